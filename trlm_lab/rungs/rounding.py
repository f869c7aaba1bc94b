"""Rounding to nearest, ties to even, told by the remainder and not by the processor's mode."""

from __future__ import annotations

from typing import Any

import numpy as np
from jaxtyping import Float64
from numpy.typing import NDArray

Array = NDArray[Any]


def nearest_even(values: Float64[Array, "*N"]) -> Float64[Array, "*N"]:
    """The nearest integer of values below 2^52."""
    below = np.floor(values)
    rest = values - below
    odd = np.floor(below / 2) * 2 != below
    up: Float64[Array, "*N"] = below + ((rest > 0.5) | ((rest == 0.5) & odd))
    return up


def nearest_float(values: Float64[Array, "*N"], digits: int, least: int) -> Float64[Array, "*N"]:
    """The nearest number with `digits` significant bits that is a multiple of 2^least."""
    exponent = np.frexp(values)[1].astype(np.int64)
    step = np.maximum(exponent - digits, least)
    # A step at a time: 2^-step itself may be beyond float64.
    scaled = nearest_even(np.ldexp(values, -step))
    return np.ldexp(scaled, step)


def single(values: Float64[Array, "*N"]) -> Any:
    """float64 to the nearest float32, normal or not, by the rule above."""
    return nearest_float(values, 24, -149).astype(np.float32)
