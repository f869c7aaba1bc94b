"""Bit views of floats: ULP distance, half formats, first non-finite element."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

F32 = NDArray[np.float32]
Array = NDArray[Any]


def bits_of(value: np.float32 | float) -> int:
    """The 32 bits of a float32 as an unsigned integer."""
    return int(np.asarray(value, dtype=np.float32).view(np.uint32))


def bits_hex(value: np.float32 | float) -> str:
    """The 32 bits of a float32 as eight hex digits."""
    return f"{bits_of(value):08x}"


def same_bits(a: Array, b: Array) -> bool:
    """Whether two arrays agree in dtype, shape and every byte."""
    if a.dtype != b.dtype or a.shape != b.shape:
        return False
    return np.ascontiguousarray(a).tobytes() == np.ascontiguousarray(b).tobytes()


def ordered_ints(x: F32) -> NDArray[np.int64]:
    """Map float32 to integers in value order: neighbours differ by one, both zeros are 0."""
    raw = np.ascontiguousarray(x, dtype=np.float32).view(np.int32)
    # Sign and magnitude to two's complement: (m ^ s) - s negates m where s is -1.
    sign = raw >> 31
    return (((raw & 0x7FFFFFFF) ^ sign) - sign).astype(np.int64)


def ulp_distance(a: F32, b: F32) -> NDArray[np.int64]:
    """Number of float32 steps between `a` and `b`, elementwise; both must be finite."""
    distance: NDArray[np.int64] = np.abs(ordered_ints(a) - ordered_ints(b))
    return distance


def first_nonfinite(x: Array) -> int | None:
    """Flat index of the first NaN or infinity, or None."""
    finite = np.isfinite(x).reshape(-1)
    return None if finite.all() else int(np.argmin(finite))


def round_to_bf16(x: F32) -> F32:
    """Round float32 to bfloat16 (nearest, ties to even) and widen back; finite input."""
    raw = np.ascontiguousarray(x, dtype=np.float32).view(np.uint32).astype(np.uint64)
    rounded = (raw + 0x7FFF + ((raw >> 16) & 1)) & 0xFFFF0000
    return rounded.astype(np.uint32).view(np.float32)
