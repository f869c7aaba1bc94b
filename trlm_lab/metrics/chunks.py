"""The one order in which long sums are formed: fixed chunks, each folded by halving.

Every step is an elementwise float64 addition, so a sum has the same bits on every machine whatever
the width of its vector unit.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import numpy as np
from jaxtyping import Float, Float64
from numpy.typing import NDArray

Array = NDArray[Any]
F64 = NDArray[np.float64]

#: Elements a chunk: half a mebibyte of float64, which stays in a core's cache.
CHUNK: Final = 1 << 16


def spans(length: int) -> Iterator[slice]:
    """Consecutive slices of at most CHUNK elements over a flat array."""
    for start in range(0, length, CHUNK):
        yield slice(start, min(start + CHUNK, length))


def fold(values: Float64[Array, " N"]) -> float:
    """Sum a flat float64 array by halving, in place: element i takes element i + ceil(n/2)."""
    length = values.size
    while length > 1:
        half = (length + 1) // 2
        values[: length - half] += values[half:length]
        length = half
    return float(values[0]) if values.size else 0.0


def sum_of_squares(values: Float[Array, "*S"]) -> float:
    """Sum of squares in float64: chunks ascending, each folded, their sums added in order."""
    flat = values.reshape(-1)
    total = 0.0
    for span in spans(flat.size):
        part = flat[span].astype(np.float64)
        part *= part
        total += fold(part)
    return total
