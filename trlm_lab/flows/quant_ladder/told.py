"""What codes a file meant, where its bytes are all that there is.

Bytes that do not hold the codes that follow from scales and weights were quantized otherwise or
laid down otherwise. Codes that were quantized otherwise lie a step from the ratio, or all of them
off by one number (a zero point); codes that were laid down otherwise lie anywhere.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from trlm_lab.rungs import Storage, unpack_rows

Array = NDArray[Any]


def told_codes(stored: Array, own: Array, nearest: Array, storage: Storage) -> Array | None:
    """The codes of stored rows where they are another rounding of the same weights, else None.

    `own` are the codes that follow, `nearest` the same before saturation.
    """
    if stored.shape[1] != storage.row_bytes(own.shape[1]):
        return None
    held = unpack_rows(stored, storage)
    codes = held[:, : own.shape[1]]
    # Padding that holds codes was not quantized at all.
    if held[:, own.shape[1] :].any():
        return None
    if storage.dense:
        return codes if np.abs(codes - own).max(initial=0) <= 1 else None
    gap = codes - nearest
    if (np.abs(gap) <= 1).all() or _clamped(codes, nearest, storage):
        return codes
    around = (codes - own) % (1 << storage.bits)
    return codes if (around == around.flat[0]).all() and around.flat[0] else None


def _clamped(codes: Array, nearest: Array, storage: Storage) -> bool:
    """Whether codes are near where they are not saturated, and of one sign where they are."""
    inside = np.abs(nearest) <= storage.q
    near = np.abs(codes - nearest) <= 1
    large = (np.sign(codes) == np.sign(nearest)) & (np.abs(codes) >= storage.q - 1)
    return bool(np.where(inside, near, large).all())
