"""GELU, error-function form: (0.5*x) * (1 + erf(x * f32(sqrt(1/2)))).

Hendrycks and Gimpel, Gaussian Error Linear Units (2016), section 2.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np
from jaxtyping import Float

from trlm_lab.ops import by_dtype
from trlm_lab.ops.arithmetic import Arithmetic, Array

#: The float32 constant in every profile, so that the profiles compute one function.
SQRT_HALF: Final = float(np.float32(math.sqrt(0.5)))


@np.errstate(all="ignore")
def gelu_erf(x: Float[Array, "*N"], arithmetic: Arithmetic) -> Float[Array, "*N"]:
    """The error-function form, elementwise, every operation rounded in the profile's type."""
    x = arithmetic.array(x)
    half, one, root = (arithmetic.dtype.type(v) for v in (0.5, 1.0, SQRT_HALF))
    return np.asarray((half * x) * (one + by_dtype.erf(arithmetic.array(x * root))))
