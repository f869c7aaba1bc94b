"""A second decoder of q8_r128, from the format's page; no code is shared with the first."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def half_values(words: NDArray[np.uint16]) -> NDArray[np.float32]:
    """Nonnegative binary16 words as float32, from exponent and fraction (exact)."""
    exponent = (words >> 10 & 31).astype(np.float64)
    fraction = (words & 1023).astype(np.float64) / 1024
    return np.where(
        exponent == 0, fraction * 2.0**-14, (1 + fraction) * 2.0 ** (exponent - 15)
    ).astype(np.float32)


def decode_q8_r128(data: Any, scales: Any, rows: int, cols: int) -> NDArray[np.float32]:
    """float32(code) * float32(scale), (rows, cols); column c uses scale c // 128 of its row."""
    stride, groups = (cols + 63) // 64 * 64, (cols + 127) // 128
    codes = np.frombuffer(data, np.int8).reshape(rows, stride)[:, :cols]
    words = np.frombuffer(scales, "<u2").reshape(rows, groups)
    by_column = half_values(words)[:, np.arange(cols) // 128]
    return codes.astype(np.float32) * by_column
