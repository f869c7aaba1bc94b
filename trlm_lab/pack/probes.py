"""Verification vectors: a product that names every element's place, and single elements.

The product is taken over integers, so that no order of adding and no rounding is in it: the 32 bits
of every float32, times an odd 64-bit number that follows from the column and the tensor's name,
summed along the row modulo 2^64. A lost transposition, a permuted row or one wrong bit changes it,
and it can be taken along the stored columns of a source without transposing anything.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trlm_lab.pack.source import Part, matrix_shape, stored_rows, widened

U64 = NDArray[np.uint64]
#: Single elements that an entry shows, beside the first and the last.
ELEMENTS = 6
#: Elements that are widened to 64 bits at a time.
_CHUNK = 1 << 18

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIX = ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB))


def _numbers(name: str, indices: U64) -> U64:
    """SplitMix64 of a seed that is the first 8 bytes of the name's SHA-256, at these indices."""
    seed = int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], "little")
    state: U64 = np.uint64(seed) + (indices + np.uint64(1)) * _GOLDEN
    for shift, factor in _MIX:
        state = (state ^ (state >> np.uint64(shift))) * np.uint64(factor)
    return state ^ (state >> np.uint64(31))


def probe_vector(name: str, length: int) -> U64:
    """The vector of a tensor, one odd number a column."""
    return _numbers(name, np.arange(length, dtype=np.uint64)) | np.uint64(1)


def probe_places(name: str, size: int) -> tuple[int, ...]:
    """Flat indices of the elements that are shown: the first, the last, and some between."""
    drawn = _numbers(name, np.arange(2**32, 2**32 + ELEMENTS, dtype=np.uint64)) % np.uint64(size)
    return tuple(sorted({0, size - 1, *(int(i) for i in drawn)}))


def source_product(part: Part, name: str) -> str:
    """SHA-256 of the product through the stored tensor, in the order in which it is stored."""
    rows, cols = matrix_shape(part.shape)
    vector = probe_vector(name, cols)
    low, high = part.first, part.first + part.shape[0]
    dtype, done = part.stored.info.dtype, 0
    found = np.zeros(rows, np.uint64)
    for block in stored_rows(part.stored):
        bits = widened(block, dtype).view(np.uint32)
        if part.transposed:
            found += _along_columns(bits[:, low:high], vector[done : done + len(bits)])
        elif len(part.shape) == 1:
            found += _along_rows(bits[:, low:high], vector)
        else:
            first, last = max(low, done), min(high, done + len(bits))
            if first < last:
                found[first - low : last - low] = _along_rows(
                    bits[first - done : last - done], vector
                )
        done += len(bits)
    return _digest(found)


def destination_product(slices: Iterable[NDArray[np.float32]], name: str) -> str:
    """SHA-256 of the product with a tensor given by consecutive float32 rows."""
    parts, vector = [], None
    for rows in slices:
        vector = probe_vector(name, rows.shape[1]) if vector is None else vector
        parts.append(_along_rows(np.ascontiguousarray(rows).view(np.uint32), vector))
    return _digest(np.concatenate(parts))


def source_element(part: Part, flat: int) -> int:
    """The float32 bits of one element of a part, by its index in the model's tensor."""
    row, col = divmod(flat, matrix_shape(part.shape)[1])
    if len(part.shape) == 1:
        at = part.first + col
    elif part.transposed:
        at = col * part.stored.info.shape[1] + part.first + row
    else:
        at = (part.first + row) * part.shape[1] + col
    return int(widened(part.stored_elements(at, 1), part.stored.info.dtype).view(np.uint32)[0])


def _along_rows(bits: NDArray[Any], vector: U64) -> U64:
    step = max(1, _CHUNK // bits.shape[1])
    found = np.empty(len(bits), np.uint64)
    for low in range(0, len(bits), step):
        found[low : low + step] = (bits[low : low + step] * vector).sum(axis=1, dtype=np.uint64)
    return found


def _along_columns(bits: NDArray[Any], vector: U64) -> U64:
    step = max(1, _CHUNK // bits.shape[1])
    found = np.zeros(bits.shape[1], np.uint64)
    for low in range(0, len(bits), step):
        part = bits[low : low + step] * vector[low : low + step, None]
        found += part.sum(axis=0, dtype=np.uint64)
    return found


def _digest(product: U64) -> str:
    return hashlib.sha256(product.astype("<u8").tobytes()).hexdigest()
