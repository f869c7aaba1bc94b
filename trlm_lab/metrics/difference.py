"""Distances between two float32 arrays, in float64."""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np
from jaxtyping import Bool, Float64, Shaped
from numpy.typing import NDArray

from trlm_lab.base.records import Metrics
from trlm_lab.metrics.chunks import CHUNK, F64, spans, sum_of_squares
from trlm_lab.metrics.quantiles import QUANTILES, exact_quantiles
from trlm_lab.metrics.ulp import max_ulp

Array = NDArray[Any]

#: Relative error is |c - r| / max(|r|, floor). The floor only keeps the figure finite near zero;
#: no outcome depends on it.
RELATIVE_FLOOR: Final = 1e-6


def differing_bits(
    reference: Shaped[Array, "*S"], candidate: Shaped[Array, "*S"]
) -> Bool[Array, " N"]:
    """Which elements of two float32 arrays of one shape differ in any bit; flat."""
    left = np.ascontiguousarray(reference).reshape(-1).view(np.uint32)
    right = np.ascontiguousarray(candidate).reshape(-1).view(np.uint32)
    differing: NDArray[np.bool_] = left != right
    return differing


def abs_difference(
    reference: Shaped[Array, "*S"], candidate: Shaped[Array, "*S"]
) -> Float64[Array, " N"]:
    """|c - r| in float64, flat C order."""
    distance = np.subtract(candidate.reshape(-1), reference.reshape(-1), dtype=np.float64)
    return np.abs(distance, out=distance)


def max_abs_difference(reference: Shaped[Array, "*S"], candidate: Shaped[Array, "*S"]) -> float:
    """max |c - r| in float64 without an array of that size; NaN where an element is NaN."""
    left, right, largest = reference.reshape(-1), candidate.reshape(-1), 0.0
    buffer = np.empty(min(CHUNK, left.size))
    for span in spans(left.size):
        part = buffer[: span.stop - span.start]
        np.subtract(right[span], left[span], out=part, dtype=np.float64)
        np.abs(part, out=part)
        largest = float(np.maximum(largest, part.max()))
    return largest


def _max_relative(reference: Array, distance: F64) -> float:
    flat, largest = reference.reshape(-1), 0.0
    for span in spans(flat.size):
        scale = np.maximum(np.abs(flat[span].astype(np.float64)), RELATIVE_FLOOR)
        largest = max(largest, float((distance[span] / scale).max()))
    return largest


def _root_mean_square(values: Array) -> float:
    return math.sqrt(sum_of_squares(values) / values.size) if values.size else 0.0


def measure(
    reference: Array, candidate: Array, *, failing: int = 0, first_failing: int | None = None
) -> Metrics:
    """All figures of a pair of finite float32 arrays of one shape.

    Where the bits are equal only the reference's own RMS is computed. `failing` and
    `first_failing` come from the judge, who knows the limit.
    """
    size, reference_rms = reference.size, _root_mean_square(reference)
    if not differing_bits(reference, candidate).any():
        zeros = tuple(0.0 for _ in QUANTILES)
        return Metrics(size, 0.0, 0.0, 0.0, reference_rms, 0, zeros, failing, first_failing, True)
    distance = abs_difference(reference, candidate)
    return Metrics(
        elements=size,
        max_abs=float(distance.max()),
        max_rel=_max_relative(reference, distance),
        rms=_root_mean_square(distance),
        reference_rms=reference_rms,
        max_ulp=max_ulp(reference, candidate),
        quantiles=exact_quantiles(distance),
        failing=failing,
        first_failing=first_failing,
        bit_equal=False,
    )
