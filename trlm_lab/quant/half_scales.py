"""Scales in IEEE binary16, `fp16`: how a group's scale is chosen, and which ones are refused."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from jaxtyping import Float32
from numpy.typing import NDArray

from trlm_lab.quant.scale_words import Words, overflow, refuse_first

Array = NDArray[Any]

HALF_MAX: Final = 65504.0
#: The smallest normal binary16 number; a smaller positive scale is raised to it.
HALF_TINY: Final = np.float16(2.0**-14)

_SIGN, _EXPONENT, _MANTISSA = 0x8000, 0x7C00, 0x03FF


class HalfScales:
    """`fp16`: the default."""

    name = "fp16"
    dtype = np.dtype("<u2")

    def choose(self, absmax: Float32[Array, "R G"], q: int, *, where: str, first_row: int) -> Words:
        """binary16(absmax / q) to nearest even, per group; `absmax` is finite.

        The quotient is first rounded to float32. Rounding twice gives the same number as rounding
        the exact quotient once: a float32 `absmax` over an odd integer below 2^7 cannot come closer
        to a binary16 midpoint, without being on it, than half a float32 step.

        Raises:
            QuantOverflowError: a scale beyond 65504.
        """
        with np.errstate(over="ignore", under="ignore"):
            quotient = absmax / np.float32(q)
            scales = quotient.astype("<f2")
        overflow(np.isinf(scales), quotient, HALF_MAX, where=where, first_row=first_row)
        scales[(absmax > 0) & (scales < HALF_TINY)] = HALF_TINY
        return scales.view(self.dtype)

    def values(self, words: Words) -> Float32[Array, "R G"]:
        """The scales as float32, exactly."""
        return words.view("<f2").astype(np.float32)

    def check(self, words: Words, q: int, *, where: str, first_row: int) -> None:
        """Refuse scales that no writer produces.

        Raises:
            QuantScaleError: negative, -0.0, subnormal, infinite or NaN.
        """
        exponent = words & _EXPONENT
        rules = (
            ("negative", (words & _SIGN) != 0),
            ("not finite", exponent == _EXPONENT),
            ("subnormal", (exponent == 0) & ((words & _MANTISSA) != 0)),
        )
        refuse_first(rules, words, self.values(words), where=where, first_row=first_row)
