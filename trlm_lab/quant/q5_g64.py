"""q5_g64: 5-bit codes in groups of 64; 40 bytes: low nibbles as in q4_g64, then bit 4 of each code.

Bit i of the last eight bytes, counted from the low end of the first, is bit 4 of code i.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from jaxtyping import Int8, UInt8
from numpy.typing import NDArray

from trlm_lab.quant.grouped import Grouped, Packing
from trlm_lab.quant.nibbles import pack_nibbles, signed, unpack_nibbles

Array = NDArray[Any]


def _pack(codes: Int8[Array, "N 64"]) -> UInt8[Array, "N 40"]:
    top = np.packbits(codes.view(np.uint8) >> np.uint8(4) & np.uint8(1), axis=1, bitorder="little")
    return np.concatenate([pack_nibbles(codes), top], axis=1)


def _unpack(stored: UInt8[Array, "N 40"]) -> Int8[Array, "N 64"]:
    top = np.unpackbits(stored[:, 32:], axis=1, bitorder="little")
    return signed(unpack_nibbles(stored[:, :32]) | top << np.uint8(4), 5)


Q5_G64 = Grouped("q5_g64", 5, 64, Packing(40, _pack, _unpack))
