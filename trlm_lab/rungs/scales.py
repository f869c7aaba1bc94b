"""Scale words: how a positive number is stored in each encoding, and what a word is worth."""

from __future__ import annotations

from typing import Any

import numpy as np
from jaxtyping import Float64, Int64
from numpy.typing import NDArray

from trlm_lab.rungs.rounding import nearest_float

Array = NDArray[Any]

#: Bits of exponent and of fraction, and the least normal exponent.
_FLOATS = {"fp16": (5, 10, -14), "bf16": (8, 7, -126), "f32": (8, 23, -126)}


def scale_words(
    absmax: Float64[Array, "R G"], q: int, encoding: str, zero: int
) -> Int64[Array, "R G"]:
    """The word of absmax / q; a positive one is at least the smallest normal, 0 gives `zero`.

    Of e8m0 the smallest power of two with q times it at or above `absmax`. What an encoding does
    not hold is the caller's to refuse: the packer does, before anything is compared.
    """
    if encoding == "e8m0":
        words = _power_above(absmax, q) + 127
        return np.where(absmax == 0, zero, np.maximum(words, 1))
    _, digits, least = _FLOATS[encoding]
    # The quotient is a float32 first, as the format says; then a number of the encoding.
    quotient = nearest_float(absmax / q, 24, -149)
    stored = np.maximum(nearest_float(quotient, digits + 1, least - digits), 2.0**least)
    words = float_words(stored, encoding)
    return np.where(absmax == 0, zero, words)


def _power_above(absmax: Float64[Array, "R G"], q: int) -> Int64[Array, "R G"]:
    """The least k with q * 2^k >= absmax: those below it are counted, each product exact."""
    first = np.frexp(absmax)[1].astype(np.int64) - 9
    tried = first[..., None] + np.arange(12)
    below = np.ldexp(float(q), tried) < absmax[..., None]
    return np.asarray(first + below.sum(axis=-1))


def float_words(values: Float64[Array, "*N"], encoding: str) -> Int64[Array, "*N"]:
    """The bits of numbers that the encoding holds, subnormal or normal, without their sign."""
    _, digits, least = _FLOATS[encoding]
    magnitude = np.abs(values)
    # frexp says 0 of a zero, which is no small number's exponent.
    found = np.where(magnitude == 0, least, np.frexp(magnitude)[1].astype(np.int64) - 1)
    exponent = np.maximum(found, least)
    fraction = np.ldexp(magnitude, digits - exponent).astype(np.int64)
    # A subnormal has no hidden bit, and lies one below the least exponent's field.
    return np.asarray(((exponent - least) << digits) + fraction)


def scale_values(words: Int64[Array, "*N"], encoding: str) -> Float64[Array, "*N"]:
    """What words are worth, exactly: sign, exponent and fraction taken apart."""
    if encoding == "none":
        return np.zeros(words.shape)
    if encoding == "e8m0":
        return np.where(words == 0, 0.0, np.ldexp(1.0, words - 127))
    exponent_bits, digits, least = _FLOATS[encoding]
    field = words >> digits & ((1 << exponent_bits) - 1)
    fraction = words & ((1 << digits) - 1)
    significand = np.where(field == 0, fraction, fraction + (1 << digits)).astype(np.float64)
    value = np.ldexp(significand, np.maximum(field, 1) - 1 + least - digits)
    value[field == (1 << exponent_bits) - 1] = np.nan
    return np.asarray(np.where(words >> (exponent_bits + digits) & 1, -value, value))
