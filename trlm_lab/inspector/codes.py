"""Codes and scales of the grouped formats, by bit positions from the format's page.

A unit is 64 columns. `POSITIONS[dtype][c]` lists, from bit 0 up, where the bits of code c stand in
the unit's bytes (8 x byte + bit, bit 0 the lowest). The highest bit of a code counts negative.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

#: Codes of a group share a scale.
GROUPS = {"q8_r128": 128, "q6_g64": 64, "q5_g64": 64, "q4_g64": 64}
BITS = {"q8_r128": 8, "q6_g64": 6, "q5_g64": 5, "q4_g64": 4}
#: Bytes of 64 codes.
UNITS = {"q8_r128": 64, "q6_g64": 48, "q5_g64": 40, "q4_g64": 32}
SCALE_BYTES = {"none": 0, "fp16": 2, "bf16": 2, "e8m0": 1}


def _nibble(c: int) -> list[int]:
    start = 8 * (c % 32) + 4 * (c // 32)
    return [start, start + 1, start + 2, start + 3]


def _positions(dtype: str, c: int) -> list[int]:
    if dtype == "q8_r128":
        return [8 * c + bit for bit in range(8)]
    found = _nibble(c)
    if dtype == "q5_g64":
        found.append(8 * 32 + c)
    if dtype == "q6_g64":
        found += [8 * (32 + c % 16) + 2 * (c // 16) + bit for bit in (0, 1)]
    return found


POSITIONS = {dtype: np.array([_positions(dtype, c) for c in range(64)], np.intp) for dtype in BITS}


def unit_codes(dtype: str, rows: NDArray[np.uint8]) -> NDArray[np.int16]:
    """Codes of stored rows (n, stride) as (n, padded columns)."""
    bits = np.unpackbits(rows.reshape(-1, UNITS[dtype]), axis=1, bitorder="little")
    gathered = bits[:, POSITIONS[dtype]].astype(np.int16)
    weights = 1 << np.arange(BITS[dtype], dtype=np.int16)
    weights[-1] = -weights[-1]
    found: NDArray[np.int16] = (gathered * weights).sum(axis=2, dtype=np.int16)
    return found.reshape(len(rows), -1)


def scale_faults(words: NDArray[Any], encoding: str, dtype: str) -> list[tuple[str, Any]]:
    """What no writer stores as a scale, each rule with the places that break it."""
    top = (1 << (BITS[dtype] - 1)) - 1
    if encoding == "e8m0":
        # top * 2^(b - 127) must stay below 2^128.
        most = 254 - (top.bit_length() - 1)
        return [("the scale 255", words == 255), ("a scale too large", words > most)]
    fraction_bits, exponent_bits = (10, 5) if encoding == "fp16" else (7, 8)
    exponent = words >> fraction_bits & ((1 << exponent_bits) - 1)
    fraction = words & ((1 << fraction_bits) - 1)
    faults = [
        ("a negative scale", words >= 0x8000),
        ("a scale that is not finite", exponent == (1 << exponent_bits) - 1),
        ("a subnormal scale", (exponent == 0) & (fraction != 0)),
    ]
    if encoding == "bf16":
        value = np.ldexp(1 + fraction / 128.0, exponent.astype(int) - 127) * top
        faults.append(("a scale too large", value >= 2.0**128))
    return faults
