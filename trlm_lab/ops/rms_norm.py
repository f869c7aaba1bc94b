"""Root-mean-square norm: y = w * (x * (1 / sqrt(sum(x*x)/n + eps))).

Zhang and Sennrich, Root Mean Square Layer Normalization (2019), equation 4, with epsilon inside the
root as the llama family has it. Every operation is rounded in the profile's type; the weight is
applied last, to the normalised value in that same type (no cast in between), unless the profile
names an option that rounds to bfloat16 before or after the weight.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

from trlm_lab.base.bits import round_to_bf16
from trlm_lab.errors import ShapeMismatchError
from trlm_lab.ops.arithmetic import Arithmetic, Array
from trlm_lab.ops.reduction import ordered_sum


def check_norm_vector(where: str, name: str, x: Array, vector: Array) -> None:
    """Raise ShapeMismatchError unless the vector is as long as the last axis of `x`."""
    if x.ndim == 0 or vector.shape != x.shape[-1:]:
        raise ShapeMismatchError(
            where=where, name=name, got=vector.shape, expected=f"(D,) for x {x.shape}"
        )


def mean_over_last(values: Array, arithmetic: Arithmetic) -> Array:
    """Sum over the last axis in the profile's order, divided by its length; keeps the axis."""
    terms = np.ascontiguousarray(np.moveaxis(values, -1, 0))
    total = ordered_sum(terms, arithmetic)
    return np.asarray(total / arithmetic.dtype.type(values.shape[-1]))[..., None]


@np.errstate(all="ignore")
def unit_offset(weight: Float[Array, " D"], arithmetic: Arithmetic) -> Float[Array, " D"]:
    """The factor 1 + w of the Gemma families, rounded in the profile's type."""
    return np.asarray(arithmetic.dtype.type(1) + arithmetic.array(weight))


@np.errstate(all="ignore")
def rms_norm(
    x: Float[Array, "*T D"], weight: Float[Array, " D"], eps: float, arithmetic: Arithmetic
) -> Float[Array, "*T D"]:
    """Normalise over the last axis; sums in the profile's order.

    Raises:
        ShapeMismatchError: `weight` has another length than the last axis.
    """
    x, weight = arithmetic.array(x), arithmetic.array(weight)
    check_norm_vector("rms_norm", "weight", x, weight)
    one, epsilon = arithmetic.dtype.type(1), arithmetic.dtype.type(eps)
    scale = one / np.sqrt(mean_over_last(x * x, arithmetic) + epsilon)
    unit = x * scale
    if arithmetic.norm_rounding == "bf16-round-then-weight":
        return _rounded(weight * _rounded(unit, arithmetic), arithmetic)
    y = np.asarray(weight * unit)
    return y if arithmetic.norm_rounding == "" else _rounded(y, arithmetic)


def _rounded(values: Array, arithmetic: Arithmetic) -> Array:
    return arithmetic.array(round_to_bf16(np.asarray(values, dtype=np.float32)))
