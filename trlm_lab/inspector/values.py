"""Rows of a stored tensor as float32, by the format pages: `slm2.md` and `slm1.md`.

For files without findings. Each value is a product rounded to float32 once; a residual's is added.
"""

from __future__ import annotations

import math
from difflib import get_close_matches
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trlm_lab.base.records.inspection import InspectedTensor, Inspection
from trlm_lab.errors import InspectRowsError, InspectTensorError
from trlm_lab.inspector.codes import GROUPS, unit_codes
from trlm_lab.inspector.residuals import HEAD

F32 = NDArray[np.float32]


def tensor_values(
    view: memoryview, found: Inspection, name: str, low: int = 0, high: int | None = None
) -> F32:
    """Rows `low` to `high` (exclusive; all by default) of a tensor, shape (rows, columns).

    A vector is one row. An alias has its target's values; a residual is part of its base's.

    Raises:
        InspectTensorError: the file holds no such tensor.
        InspectRowsError: it has no such rows.
    """
    rows = {row.name: row for row in found.tensors if row.layout != "sparse_residual"}
    if name not in rows:
        near = ", ".join(get_close_matches(name, rows, 3, 0.0))
        raise InspectTensorError(where=name, name=name, near=near)
    row = rows[name]
    if row.alias_of is not None:
        row = rows[row.alias_of]
    count = math.prod(row.dims[:-1])
    high = count if high is None else high
    if not 0 <= low < high <= count:
        raise InspectRowsError(where=name, got=f"{low}:{high}", tensor=name, count=count)
    values = _dense(view, row, low, high)
    for residual in found.tensors:
        if residual.layout == "sparse_residual" and residual.alias_of == row.name:
            values = values + _residual(view, residual, low, high)
    return values


def _dense(view: memoryview, row: InspectedTensor, low: int, high: int) -> F32:
    cols, lines = row.dims[-1], math.prod(row.dims[:-1])
    data = view[row.data_range[0] : row.data_range[1]]
    stride = len(data) // lines
    part = np.frombuffer(data[low * stride : high * stride], np.uint8).reshape(high - low, stride)
    if row.dtype in ("f32", "f16", "bf16"):
        return _floats(part, row.dtype)
    scales = view[row.scales_range[0] : row.scales_range[1]]
    width = len(scales) // lines
    words = np.frombuffer(scales[low * width : high * width], np.uint8).reshape(high - low, width)
    if row.dtype in GROUPS:
        codes: NDArray[Any] = unit_codes(row.dtype, part)[:, :cols]
        factors = np.repeat(_scales(words, row.scale_encoding), GROUPS[row.dtype], axis=1)
    else:
        codes = part.view(np.int8) if row.dtype == "q8_0" else _nibbles(part)
        own = words.view("<f4")
        factors = np.repeat(own, cols // own.shape[1], axis=1)
    product: F32 = codes.astype(np.float32) * factors[:, :cols]
    return product


def _floats(part: NDArray[np.uint8], dtype: str) -> F32:
    if dtype == "bf16":
        return (part.view("<u2").astype(np.uint32) << 16).view(np.float32)
    return part.view("<f4" if dtype == "f32" else "<f2").astype(np.float32)


def _nibbles(part: NDArray[np.uint8]) -> NDArray[np.int8]:
    """Two's complement, the even column low."""
    pair = np.stack([part & 15, part >> 4], axis=2).reshape(len(part), -1).astype(np.int8)
    return np.where(pair > 7, pair - 16, pair).astype(np.int8)


def _scales(words: NDArray[np.uint8], encoding: str) -> F32:
    if encoding == "e8m0":
        exact = np.ldexp(np.float32(1), words.astype(np.int32) - 127).astype(np.float32)
        return np.where(words == 0, np.float32(0), exact)
    return _floats(words, "f16" if encoding == "fp16" else "bf16")


def _residual(view: memoryview, row: InspectedTensor, low: int, high: int) -> F32:
    """The entries of some rows among zeros."""
    data = view[row.data_range[0] : row.data_range[1]]
    lines, cols = math.prod(row.dims[:-1]), row.dims[-1]
    pointers = np.frombuffer(data, "<u4", lines + 1, HEAD).astype(np.int64)
    kind: Any = np.dtype("<u2" if cols <= 65536 else "<u4")
    nnz, at = int(pointers[-1]), HEAD + 4 * (lines + 1)
    columns = np.frombuffer(data, kind, nnz, at)
    stored = data[at + nnz * kind.itemsize :]
    first, last = int(pointers[low]), int(pointers[high])
    owners = np.repeat(np.arange(high - low), np.diff(pointers[low : high + 1]))
    if row.dtype == "f16":
        values = np.frombuffer(stored, "<f2", nnz)[first:last].astype(np.float32)
    else:
        scales = view[row.scales_range[0] : row.scales_range[1]]
        factors = np.frombuffer(scales, "<f2").astype(np.float32)[low + owners]
        values = np.frombuffer(stored, np.int8, nnz)[first:last].astype(np.float32) * factors
    out = np.zeros((high - low, cols), np.float32)
    out[owners, columns[first:last]] = values
    return out
