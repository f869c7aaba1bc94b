"""The grouped formats one element at a time, with exact rational scales, from the format's page."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

F32 = np.float32
F32_MAX = Fraction(2) ** 128 - Fraction(2) ** 104
#: bits, columns that share a scale
FORMATS = {"q8_r128": (8, 128), "q6_g64": (6, 64), "q5_g64": (5, 64), "q4_g64": (4, 64)}
#: significant bits, smallest normal exponent, largest number
FLOATS = {"fp16": (11, -14, Fraction(65504)), "bf16": (8, -126, F32_MAX)}


class Refused(Exception):
    """The scale does not fit."""


def nearest(value: Fraction, significant: int, least: int) -> Fraction:
    """The nearest number of this many significant bits, ties to even, subnormal below 2^least."""
    if value == 0:
        return value
    exponent = least
    while Fraction(2) ** (exponent + 1) <= value:
        exponent += 1
    step = Fraction(2) ** (exponent - significant + 1)
    return round(value / step) * step  # Fraction rounds halves to even


def scale_of(absmax: float, q: int, encoding: str) -> Fraction:
    """The scale of a group. Raises Refused where it does not fit."""
    if absmax == 0:
        return Fraction(0)
    exact = Fraction(absmax) / q
    if encoding == "e8m0":
        exponent = -126
        while Fraction(2) ** exponent < exact:
            exponent += 1
        scale = Fraction(2) ** exponent
        largest = F32_MAX
    else:
        significant, least, largest = FLOATS[encoding]
        scale = max(nearest(exact, significant, least), Fraction(2) ** least)
    if scale > largest or scale * q > F32_MAX:
        raise Refused
    return scale


def scale_bytes(scale: Fraction, encoding: str) -> bytes:
    if encoding == "e8m0":
        return bytes([0 if scale == 0 else int(math.log2(scale)) + 127])
    if encoding == "bf16":
        return F32(float(scale)).tobytes()[2:]
    return np.float16(float(scale)).tobytes()


def code_of(x: float, scale: Fraction, q: int) -> int:
    if scale == 0:
        return 0
    quotient = float(F32(x) / F32(float(scale)))
    return max(-q, min(q, round(quotient)))  # round: ties to even


def pack_unit(codes: list[int], bits: int) -> bytes:
    """64 codes, bit by bit."""
    out = bytearray({8: 64, 6: 48, 5: 40, 4: 32}[bits])
    for c, code in enumerate(codes):
        word = code & ((1 << bits) - 1)
        if bits == 8:
            out[c] = word
            continue
        out[c % 32] |= (word & 15) << (4 if c >= 32 else 0)
        if bits == 5:
            out[32 + c // 8] |= (word >> 4) << c % 8
        if bits == 6:
            out[32 + c % 16] |= (word >> 4) << 2 * (c // 16)
    return bytes(out)


def quantize_row(row: list[float], name: str, encoding: str) -> tuple[bytes, bytes, list[float]]:
    """Packed codes, scales, and the dequantized row."""
    bits, group = FORMATS[name]
    q = (1 << (bits - 1)) - 1
    codes: list[int] = []
    scales, values = b"", []
    for low in range(0, len(row), group):
        part = row[low : low + group]
        scale = scale_of(max(abs(x) for x in part), q, encoding)
        found = [code_of(x, scale, q) for x in part]
        codes += found
        scales += scale_bytes(scale, encoding)
        values += [float(F32(code) * F32(float(scale))) for code in found]
    codes += [0] * (-len(codes) % 64)
    packed = b"".join(pack_unit(codes[i : i + 64], bits) for i in range(0, len(codes), 64))
    return packed, scales, values
