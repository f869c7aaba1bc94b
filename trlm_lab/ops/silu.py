"""SiLU: x / (1 + exp(-x)).

Elfwing, Uchibe and Doya (2018), section 2, where it is x times the logistic function; here it is
one division, as the profiles pin it.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

from trlm_lab.ops import by_dtype
from trlm_lab.ops.arithmetic import Arithmetic, Array


@np.errstate(all="ignore")
def silu(x: Float[Array, "*N"], arithmetic: Arithmetic) -> Float[Array, "*N"]:
    """x / (1 + exp(-x)), elementwise; where exp(-x) overflows the result is -0.0."""
    x = arithmetic.array(x)
    return np.asarray(x / (arithmetic.dtype.type(1) + by_dtype.exp(-x)))
