"""Bias of a projection: one rounded addition behind the finished dot product."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

from trlm_lab.errors import ShapeMismatchError
from trlm_lab.ops.arithmetic import Arithmetic, Array


@np.errstate(all="ignore")
def add_bias(
    y: Float[Array, "*T O"], bias: Float[Array, " O"], arithmetic: Arithmetic
) -> Float[Array, "*T O"]:
    """y + bias, the same vector for every token.

    Raises:
        ShapeMismatchError: the bias is not as long as the last axis.
    """
    y, bias = arithmetic.array(y), arithmetic.array(bias)
    if bias.shape != y.shape[-1:]:
        raise ShapeMismatchError(
            where="bias", name="bias", got=bias.shape, expected=f"(O,) for y {y.shape}"
        )
    return np.asarray(y + bias)
