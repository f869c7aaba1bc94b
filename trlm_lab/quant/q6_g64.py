"""q6_g64: 6-bit codes in groups of 64; 48 bytes: low nibbles as in q4_g64, then the top two bits.

Byte j of the last sixteen holds bits 4 and 5 of codes j, j + 16, j + 32, j + 48, from bit 0 up.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from jaxtyping import Int8, UInt8
from numpy.typing import NDArray

from trlm_lab.quant.grouped import Grouped, Packing
from trlm_lab.quant.nibbles import pack_nibbles, signed, unpack_nibbles

Array = NDArray[Any]


def _pack(codes: Int8[Array, "N 64"]) -> UInt8[Array, "N 48"]:
    top = codes.view(np.uint8) >> np.uint8(4) & np.uint8(3)
    quarters = [top[:, 16 * i : 16 * i + 16] << np.uint8(2 * i) for i in range(4)]
    joined = quarters[0] | quarters[1] | quarters[2] | quarters[3]
    return np.concatenate([pack_nibbles(codes), joined], axis=1)


def _unpack(stored: UInt8[Array, "N 48"]) -> Int8[Array, "N 64"]:
    joined = stored[:, 32:]
    top = np.concatenate([joined >> np.uint8(2 * i) & np.uint8(3) for i in range(4)], axis=1)
    return signed(unpack_nibbles(stored[:, :32]) | top << np.uint8(4), 6)


Q6_G64 = Grouped("q6_g64", 6, 64, Packing(48, _pack, _unpack))
