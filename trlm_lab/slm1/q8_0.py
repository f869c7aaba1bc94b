"""q8_0: one i8 an element, one float32 scale a row; w = float32(code) * scale.

Rounding is ours: scale = absmax / 127 in float32 (1 for a row of zeros, at least 2^-126),
code = clamp(round_ties_even(x / scale), -127, 127). A reader takes the code -128 too.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from trlm_lab.slm1.scales import absmax_scales, check_scales, codes_of

F32 = NDArray[np.float32]
Q = 127


def row_bytes(cols: int) -> int:
    """Bytes of a row of codes."""
    return cols


def encode(rows: F32, block: int) -> tuple[bytes, bytes]:
    """Codes and scales of finite rows (n, cols); `block` is the number of columns."""
    scales = absmax_scales(rows, Q)
    return codes_of(rows, scales, Q).tobytes(), scales.astype("<f4").tobytes()


def decode(data: memoryview, scales: memoryview, cols: int, block: int) -> F32:
    """float32(code) * scale, (n, cols)."""
    codes = np.frombuffer(data, np.int8).reshape(-1, cols)
    return np.asarray(codes.astype(np.float32) * np.frombuffer(scales, "<f4")[:, None])


def check(
    data: memoryview, scales: memoryview, cols: int, block: int, where: str, row: int
) -> None:
    """Every code is allowed; scales are not. Raises Slm1ScaleError."""
    check_scales(scales, 1, where, row)
