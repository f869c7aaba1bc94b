"""Scales in bfloat16, `bf16`: the range of float32 with eight significant bits."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from jaxtyping import Float32
from numpy.typing import NDArray

from trlm_lab.quant.scale_words import Words, overflow, refuse_first

Array = NDArray[Any]

BF16_MAX: Final = float(np.uint32(0x7F7F0000).view(np.float32))
#: The word of 2^-126, the smallest normal bfloat16; a smaller positive scale is raised to it.
BF16_TINY: Final = 0x0080

_SIGN, _EXPONENT, _MANTISSA = 0x8000, 0x7F80, 0x007F


def bf16_words(values: Float32[Array, "*N"]) -> Any:
    """The nearest bfloat16 of each finite value, ties to even; beyond the range an infinity."""
    bits = np.ascontiguousarray(values).view(np.uint32)
    return ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype("<u2")


class Bf16Scales:
    """`bf16`."""

    name = "bf16"
    dtype = np.dtype("<u2")

    def choose(self, absmax: Float32[Array, "R G"], q: int, *, where: str, first_row: int) -> Words:
        """bfloat16(absmax / q) to nearest even, per group; `absmax` is finite.

        The quotient is first rounded to float32; as with `fp16` that changes nothing, midpoints
        being even farther away.

        Raises:
            QuantOverflowError: the scale, or q times it, is above float32.
        """
        with np.errstate(under="ignore"):
            quotient = absmax / np.float32(q)
        words: Words = bf16_words(quotient)
        words[(absmax > 0) & (words < BF16_TINY)] = BF16_TINY
        overflow(self._beyond(words, q), quotient, BF16_MAX / q, where=where, first_row=first_row)
        return words

    def values(self, words: Words) -> Float32[Array, "R G"]:
        """The scales as float32, exactly."""
        return (words.astype(np.uint32) << np.uint32(16)).view(np.float32)

    def check(self, words: Words, q: int, *, where: str, first_row: int) -> None:
        """Refuse scales that no writer produces.

        Raises:
            QuantScaleError: negative, -0.0, subnormal, infinite, NaN, or times q above float32.
        """
        exponent = words & _EXPONENT
        rules = (
            ("negative", (words & _SIGN) != 0),
            ("not finite", exponent == _EXPONENT),
            ("subnormal", (exponent == 0) & ((words & _MANTISSA) != 0)),
            (f"above float32 when multiplied by {q}", self._beyond(words, q)),
        )
        refuse_first(rules, words, self.values(words), where=where, first_row=first_row)

    def _beyond(self, words: Words, q: int) -> Any:
        with np.errstate(over="ignore"):
            return ~np.isfinite(self.values(words) * np.float32(q))
