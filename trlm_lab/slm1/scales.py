"""Scales of SLM1's block formats: float32, above 0, and finite with every code."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from trlm_lab.errors import Slm1ScaleError

F32 = NDArray[np.float32]
SMALLEST_NORMAL: Final = np.float32(2.0**-126)
#: Behind it, the lowest code of one byte times the scale is not finite.
LARGEST: Final = np.float32(np.finfo(np.float32).max / 128)


def absmax_scales(groups: F32, q: int) -> F32:
    """absmax / q of the last axis in float32; 1 for zeros, never below the smallest normal."""
    absmax = np.abs(groups).max(axis=-1)
    scales = np.maximum(absmax / np.float32(q), SMALLEST_NORMAL)
    return np.where(absmax == 0, np.float32(1), scales).astype(np.float32)


def codes_of(groups: F32, scales: F32, q: int) -> NDArray[np.int8]:
    """clamp(round_ties_even(x / scale), -q, q), by float32 division."""
    return np.asarray(np.clip(np.rint(groups / scales[..., None]), -q, q), dtype=np.int8)


def check_scales(scales: memoryview, each: int, where: str, first_row: int) -> None:
    """Refuse the first scale out of range; `each` are the scales of a row.

    Raises:
        Slm1ScaleError: not finite, not above 0, or too large.
    """
    values = np.frombuffer(scales, "<f4")
    bad = ~((values > 0) & (values <= LARGEST))
    if bad.any():
        row, block = divmod(int(np.argmax(bad)), each)
        raise Slm1ScaleError(
            where=where,
            row=first_row + row,
            block=block,
            got=values[row * each + block],
            expected=f"2^-149 to {LARGEST}",
        )
