"""q4_0: two's complement nibbles, even column low, one float32 scale a block along the row.

w = float32(code) * scale. Rounding is ours: scale = absmax / 7 in float32 (1 for a block of zeros,
at least 2^-126), code = clamp(round_ties_even(x / scale), -7, 7). A reader takes the code -8 too.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from trlm_lab.slm1.scales import absmax_scales, check_scales, codes_of

F32 = NDArray[np.float32]
Q = 7


def row_bytes(cols: int) -> int:
    """Bytes of a row of codes; columns are even, since blocks are."""
    return cols // 2


def encode(rows: F32, block: int) -> tuple[bytes, bytes]:
    """Codes and scales of finite rows (n, cols); `block` is even and divides the columns."""
    groups = rows.reshape(len(rows), -1, block)
    scales = absmax_scales(groups, Q)
    nibbles = codes_of(groups, scales, Q).reshape(len(rows), -1).view(np.uint8) & 15
    data = nibbles[:, 0::2] | nibbles[:, 1::2] << 4
    return data.tobytes(), scales.astype("<f4").tobytes()


def decode(data: memoryview, scales: memoryview, cols: int, block: int) -> F32:
    """float32(code) * scale, (n, cols)."""
    packed = np.frombuffer(data, np.uint8).reshape(-1, cols // 2)
    codes = np.empty((len(packed), cols), np.int8)
    # The sign of a nibble: shifted up as a byte, then down arithmetically.
    codes[:, 0::2] = (packed << 4).view(np.int8) >> 4
    codes[:, 1::2] = packed.view(np.int8) >> 4
    groups = codes.astype(np.float32).reshape(len(packed), -1, block)
    factors = np.frombuffer(scales, "<f4").reshape(len(packed), -1, 1)
    return np.asarray((groups * factors).reshape(len(packed), cols))


def check(
    data: memoryview, scales: memoryview, cols: int, block: int, where: str, row: int
) -> None:
    """Every nibble is allowed; scales are not. Raises Slm1ScaleError."""
    check_scales(scales, cols // block, where, row)
