"""Soft cap of scores or logits: cap * tanh(x / cap), applied before any mask.

Gemma 2 technical report (2024), section 2, logit soft-capping.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

from trlm_lab.ops import by_dtype
from trlm_lab.ops.arithmetic import Arithmetic, Array


@np.errstate(all="ignore")
def softcap(x: Float[Array, "*N"], cap: float, arithmetic: Arithmetic) -> Float[Array, "*N"]:
    """cap * tanh(x / cap), elementwise; the quotient, tanh and product are rounded in turn."""
    limit = arithmetic.dtype.type(cap)
    return np.asarray(limit * by_dtype.tanh(arithmetic.array(arithmetic.array(x) / limit)))
