"""Layer norm: m = sum(x)/n, v = sum((x-m)^2)/n, y = ((x-m) * (1/sqrt(v+eps))) * w + b.

Ba, Kiros and Hinton, Layer Normalization (2016), section 3.1, with the biased variance.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

from trlm_lab.ops.arithmetic import Arithmetic, Array
from trlm_lab.ops.rms_norm import check_norm_vector, mean_over_last


@np.errstate(all="ignore")
def layer_norm(
    x: Float[Array, "*T D"],
    weight: Float[Array, " D"],
    bias: Float[Array, " D"],
    eps: float,
    arithmetic: Arithmetic,
) -> Float[Array, "*T D"]:
    """Normalise over the last axis; both sums in the profile's order.

    Raises:
        ShapeMismatchError: `weight` or `bias` has another length than the last axis.
    """
    x = arithmetic.array(x)
    weight, bias = arithmetic.array(weight), arithmetic.array(bias)
    for name, vector in (("weight", weight), ("bias", bias)):
        check_norm_vector("layer_norm", name, x, vector)
    one, epsilon = arithmetic.dtype.type(1), arithmetic.dtype.type(eps)
    centred = x - mean_over_last(x, arithmetic)
    variance = mean_over_last(centred * centred, arithmetic)
    return np.asarray((centred * (one / np.sqrt(variance + epsilon))) * weight + bias)
