"""Inverse frequencies of SLM1: the file has the base alone, so every reader must derive the same.

theta^(-2i/E) = exp(-(2i * ln(theta)) / E), in float64 by IEEE operations in this order, rounded
once to float32. The Rust twin is `kernels_ref/src/slm1/frequencies.rs`. A source's own values come
from its framework and may differ from these in the last bit.
"""

from __future__ import annotations

import math
import struct
from typing import Final

import numpy as np

_ROUND_MAGIC: Final = 6755399441055744.0
_LOG2_E: Final = float.fromhex("0x1.71547652b82fep+0")
_LN2_HI: Final = float.fromhex("0x1.62e42fee00000p-1")
_LN2_LO: Final = float.fromhex("0x1.a39ef35793c76p-33")
_SQRT_2: Final = float.fromhex("0x1.6a09e667f3bcdp+0")
#: 1/n! for n = 13 down to 0.
_EXP: Final = tuple(1.0 / math.factorial(n) for n in range(13, -1, -1))
#: 1/(2n+1) for n = 12 down to 0: |s| stays below 0.172, so the rest is below 2^-65.
_ATANH: Final = tuple(1.0 / (2 * n + 1) for n in range(12, -1, -1))


def inverse_frequencies(theta: float, head_dim: int) -> tuple[float, ...]:
    """E/2 float32 values; `theta` is a float32 value of at least 1, `head_dim` even."""
    log = _ln(theta)
    return tuple(
        float(np.float32(_exp(-((2.0 * i * log) / head_dim)))) for i in range(head_dim // 2)
    )


def attention_scale(head_dim: int) -> float:
    """1/sqrt(E), a float32 value."""
    return float(np.float32(1.0 / math.sqrt(head_dim)))


def _horner(coefficients: tuple[float, ...], x: float) -> float:
    total = coefficients[0]
    for coefficient in coefficients[1:]:
        total = total * x + coefficient
    return total


def _ln(x: float) -> float:
    """The natural logarithm of a normal number: 2 atanh(s) of its fraction, and the exponent's."""
    bits = struct.unpack("<q", struct.pack("<d", x))[0]
    exponent = (bits >> 52) - 1023
    m = float(struct.unpack("<d", struct.pack("<q", bits & (1 << 52) - 1 | 1023 << 52))[0])
    if m > _SQRT_2:
        m, exponent = m * 0.5, exponent + 1
    s = (m - 1.0) / (m + 1.0)
    fraction = 2.0 * s * _horner(_ATANH, s * s)
    return float(exponent * _LN2_HI + (fraction + exponent * _LN2_LO))


def _exp(x: float) -> float:
    k = (x * _LOG2_E + _ROUND_MAGIC) - _ROUND_MAGIC
    r = (x - k * _LN2_HI) - k * _LN2_LO
    (power,) = struct.unpack("<d", struct.pack("<q", (int(k) + 1023) << 52))
    return float(_horner(_EXP, r) * power)
