"""f32: the weights themselves, little-endian, without scales."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from trlm_lab.errors import Slm1NonFiniteError

F32 = NDArray[np.float32]


def row_bytes(cols: int) -> int:
    """Bytes of a row."""
    return 4 * cols


def encode(rows: F32, block: int) -> tuple[bytes, bytes]:
    """The bytes of rows (n, cols), and no scales."""
    return rows.astype("<f4", copy=False).tobytes(), b""


def decode(data: memoryview, scales: memoryview, cols: int, block: int) -> F32:
    """A view of the stored rows, (n, cols)."""
    return np.frombuffer(data, "<f4").reshape(-1, cols)


def check(
    data: memoryview, scales: memoryview, cols: int, block: int, where: str, row: int
) -> None:
    """Refuse the first NaN or infinity. Raises Slm1NonFiniteError."""
    values = np.frombuffer(data, "<f4")
    finite = np.isfinite(values)
    if not finite.all():
        at, column = divmod(int(np.argmin(finite)), cols)
        got = values[at * cols + column]
        raise Slm1NonFiniteError(
            where=where, row=row + at, column=column, got=got, expected="a finite number"
        )
