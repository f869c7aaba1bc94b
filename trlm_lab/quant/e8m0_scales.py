"""Scales that are powers of two, `e8m0`: one byte b, 2^(b - 127), b = 0 a group of zeros.

The exponent is rounded up, so that no code is clamped. 255 is refused.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from jaxtyping import Float32, Int64
from numpy.typing import NDArray

from trlm_lab.quant.scale_words import Words, overflow, refuse_first

Array = NDArray[Any]

BIAS: Final = 127
_F32_MAX: Final = float(np.finfo(np.float32).max)


def largest_byte(q: int) -> int:
    """The largest byte whose scale times q is a float32."""
    return max(b for b in range(1, 255) if q * 2.0 ** (b - BIAS) <= _F32_MAX)


class E8m0Scales:
    """`e8m0`."""

    name = "e8m0"
    dtype = np.dtype("u1")

    def choose(self, absmax: Float32[Array, "R G"], q: int, *, where: str, first_row: int) -> Words:
        """The smallest power of two that is not below absmax / q, at least 2^-126, per group.

        Mantissas are compared, so nothing is rounded: m 2^e <= q 2^k, with q = n 2^f.

        Raises:
            QuantOverflowError: q times the scale is above float32.
        """
        mantissa, exponent = np.frexp(absmax.astype(np.float64))
        of_q, shift = np.frexp(float(q))
        k: Int64[Array, "R G"] = exponent.astype(np.int64) - shift + (mantissa > of_q)
        stored = np.where(absmax > 0, np.maximum(k + BIAS, 1), 0)
        largest = largest_byte(q)
        quotient = absmax / np.float32(q)
        limit = 2.0 ** (largest - BIAS)
        overflow(stored > largest, quotient, limit, where=where, first_row=first_row)
        return stored.astype(np.uint8)

    def values(self, words: Words) -> Float32[Array, "R G"]:
        """The scales as float32, exactly; 0 for the byte 0."""
        return (words.astype(np.uint32) << np.uint32(23)).view(np.float32)

    def check(self, words: Words, q: int, *, where: str, first_row: int) -> None:
        """Refuse scales that no writer produces.

        Raises:
            QuantScaleError: the byte 255, or times q above float32.
        """
        rules = (
            ("the byte 255, no number", words == 255),
            (f"above float32 when multiplied by {q}", words > largest_byte(q)),
        )
        refuse_first(rules, words, self.values(words), where=where, first_row=first_row)
