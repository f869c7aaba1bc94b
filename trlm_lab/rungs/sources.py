"""The source's words as float32, and the one permutation of rows that a container asks for."""

from __future__ import annotations

from typing import Any

import numpy as np
from jaxtyping import Float32
from numpy.typing import NDArray

from trlm_lab.rungs.scales import scale_values

Array = NDArray[Any]

_ENCODINGS = {"F16": "fp16", "BF16": "bf16"}


def widened_words(words: Array, dtype: str) -> Float32[Array, "R C"]:
    """Unsigned words of an F32, F16 or BF16 tensor as float32; every one is held exactly."""
    if dtype == "F32":
        return words.astype("<u4").view("<f4").astype(np.float32)
    wide = scale_values(words.astype(np.int64), _ENCODINGS[dtype])
    found: Float32[Array, "R C"] = wide.astype(np.float32)
    return found


def interleaved_rows(first: int, last: int, head_dim: int) -> list[int]:
    """Which source row (halves i, i + E/2 as pairs) each row of an interleaved matrix is."""
    rows = []
    for row in range(first, last):
        head, place = divmod(row, head_dim)
        pair, second = divmod(place, 2)
        rows.append(head * head_dim + pair + second * (head_dim // 2))
    return rows
