"""GELU, tanh form: (0.5*x) * (1 + tanh(c * (x + 0.044715*((x*x)*x)))), c = f32(sqrt(2/pi)).

Hendrycks and Gimpel, Gaussian Error Linear Units (2016), section 2.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np
from jaxtyping import Float

from trlm_lab.ops import by_dtype
from trlm_lab.ops.arithmetic import Arithmetic, Array

#: The float32 constants in every profile, so that the profiles compute one function.
SQRT_2_OVER_PI: Final = float(np.float32(math.sqrt(2.0 / math.pi)))
CUBIC: Final = float(np.float32(0.044715))


@np.errstate(all="ignore")
def gelu_tanh(x: Float[Array, "*N"], arithmetic: Arithmetic) -> Float[Array, "*N"]:
    """The tanh form, elementwise, every operation rounded in the profile's type."""
    x = arithmetic.array(x)
    half, one, c, cubic = (arithmetic.dtype.type(v) for v in (0.5, 1.0, SQRT_2_OVER_PI, CUBIC))
    inner = arithmetic.array(c * (x + cubic * ((x * x) * x)))
    return np.asarray((half * x) * (one + by_dtype.tanh(inner)))
