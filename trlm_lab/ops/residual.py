"""Residual connection: old + new, one rounded addition."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

from trlm_lab.errors import ShapeMismatchError
from trlm_lab.ops.arithmetic import Arithmetic, Array


@np.errstate(all="ignore")
def residual(
    old: Float[Array, "T D"], new: Float[Array, "T D"], arithmetic: Arithmetic
) -> Float[Array, "T D"]:
    """The stream `old` plus the update `new`.

    Raises:
        ShapeMismatchError: the shapes differ (they are never broadcast).
    """
    if old.shape != new.shape:
        raise ShapeMismatchError(where="residual", name="new", got=new.shape, expected=old.shape)
    return np.asarray(arithmetic.array(old) + arithmetic.array(new))
