"""A source tensor out of an artifact: the steps of the ledger undone, in blocks of stored rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trlm_lab.base.source_tensors import SourceTensor
from trlm_lab.pack.source import SLICE_ELEMENTS, matrix_shape
from trlm_lab.pack.weights import row_slices, rows_between
from trlm_lab.slm.read import SlmFile, SlmTensor

F32 = NDArray[np.float32]


def source_rows(slm: SlmFile, source: SourceTensor) -> Iterator[F32]:
    """The float32 rows of a source tensor in its stored order, about 16 MB at a time.

    The parts of a tensor stand in the order of its rows (of its columns where it is transposed).

    Raises:
        QuantScaleError, QuantCodeError, QuantPaddingError: planes that no writer produces.
    """
    parts = [(slm.tensor(part.destination), part.steps) for part in source.parts]
    if any(step.kind == "transpose" for _, steps in parts for step in steps):
        yield from _turned([tensor for tensor, _ in parts], matrix_shape(source.shape))
        return
    for tensor, _ in parts:
        yield from row_slices(tensor)


def _turned(parts: list[SlmTensor], shape: tuple[int, int]) -> Iterator[F32]:
    """Stored rows are columns of the parts, side by side."""
    rows, cols = shape
    step = max(1, SLICE_ELEMENTS // cols)
    for low in range(0, rows, step):
        high = min(low + step, rows)
        yield np.concatenate([_columns(tensor, low, high) for tensor in parts], axis=1)


def _columns(tensor: SlmTensor, low: int, high: int) -> F32:
    """Columns of a matrix as rows, read a few of its own rows at a time."""
    out = np.empty((high - low, tensor.rows), np.float32)
    step = max(1, SLICE_ELEMENTS // tensor.cols)
    for first in range(0, tensor.rows, step):
        last = min(first + step, tensor.rows)
        out[:, first:last] = rows_between(tensor, first, last)[:, low:high].T
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
