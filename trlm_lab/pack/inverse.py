"""A source tensor out of an artifact: the steps of the ledger undone, in blocks of stored rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trlm_lab.base.source_tensors import SourceTensor
from trlm_lab.pack.source import SLICE_ELEMENTS, matrix_shape
from trlm_lab.pack.weights import row_slices
from trlm_lab.slm.read import SlmFile, SlmTensor

F32 = NDArray[np.float32]
#: A tensor and its residual, if it has one.
Stored = tuple[SlmTensor, SlmTensor | None]


def source_rows(slm: SlmFile, source: SourceTensor) -> Iterator[F32]:
    """The float32 rows of a source tensor in its stored order, about 16 MB at a time.

    The parts of a tensor stand in the order of its rows (of its columns where it is transposed).

    Raises:
        QuantScaleError, QuantCodeError, QuantPaddingError: planes that no writer produces.
    """
    parts = [
        (slm.tensor(part.destination), slm.residual_of(part.destination)) for part in source.parts
    ]
    if any(step.kind == "transpose" for part in source.parts for step in part.steps):
        yield from _turned(parts, matrix_shape(source.shape))
        return
    for tensor, residual in parts:
        yield from row_slices(tensor, residual)


def _turned(parts: list[Stored], shape: tuple[int, int]) -> Iterator[F32]:
    """Stored rows are columns of the parts, side by side."""
    rows, cols = shape
    step = max(1, SLICE_ELEMENTS // cols)
    for low in range(0, rows, step):
        high = min(low + step, rows)
        yield np.concatenate([_columns(part, low, high) for part in parts], axis=1)


def _columns(part: Stored, low: int, high: int) -> F32:
    """Columns of a matrix as rows, read a few of its own rows at a time."""
    tensor, residual = part
    out = np.empty((high - low, tensor.rows), np.float32)
    first = 0
    for rows in row_slices(tensor, residual):
        out[:, first : first + len(rows)] = rows[:, low:high].T
        first += len(rows)
    return out


def narrowed(values: F32, dtype: str) -> NDArray[Any] | None:
    """Float32 as the source's element type; None where a value is not one of its."""
    if dtype == "F32":
        return values
    if dtype == "F16":
        with np.errstate(over="ignore"):
            halves = values.astype("<f2")
        same = np.array_equal(halves.astype(np.float32).view(np.uint32), values.view(np.uint32))
        return halves if same else None
    bits = np.ascontiguousarray(values).view(np.uint32)
    return None if (bits & np.uint32(0xFFFF)).any() else (bits >> np.uint32(16)).astype("<u2")
