"""Low nibbles of 64 codes in 32 bytes: byte j holds code j below and code j + 32 above."""

from __future__ import annotations

from typing import Any

import numpy as np
from jaxtyping import Int8, UInt8
from numpy.typing import NDArray

Array = NDArray[Any]


def pack_nibbles(codes: Int8[Array, "N 64"]) -> UInt8[Array, "N 32"]:
    """The four low bits of each code."""
    low = codes.view(np.uint8) & np.uint8(15)
    return low[:, :32] | low[:, 32:] << np.uint8(4)


def unpack_nibbles(stored: UInt8[Array, "N 32"]) -> UInt8[Array, "N 64"]:
    """The nibbles in the order of the codes, 0 to 15."""
    return np.concatenate([stored & np.uint8(15), stored >> np.uint8(4)], axis=1)


def signed(values: UInt8[Array, "N 64"], bits: int) -> Int8[Array, "N 64"]:
    """Two's complement of `bits` bits as int8."""
    top = np.uint8(1 << (bits - 1))
    return ((values ^ top) - top).view(np.int8)
