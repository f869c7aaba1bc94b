"""Weights of an opened artifact as float32, in slices of rows: joins slm and quant."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from trlm_lab.quant import block_format
from trlm_lab.quant.sparse import Sparse, decode_sparse
from trlm_lab.slm.numbers import DType
from trlm_lab.slm.read import SlmTensor, dense_f32, residual_payload

SLICE_ELEMENTS = 4 << 20

F32 = NDArray[np.float32]


def row_slices(tensor: SlmTensor, residual: SlmTensor | None = None) -> Iterator[F32]:
    """The tensor as float32 matrices of consecutive rows, about 16 MB each.

    With its `residual` each row is float32(dense + sparse). A residual alone has zeros between its
    entries.

    Raises:
        QuantScaleError, QuantCodeError, QuantPaddingError, QuantIndexError: planes that no writer
            produces.
    """
    step = max(1, SLICE_ELEMENTS // tensor.cols)
    sparse = None if residual is None else sparse_of(residual)
    for low in range(0, tensor.rows, step):
        high = min(low + step, tensor.rows)
        rows = rows_between(tensor, low, high)
        yield rows if sparse is None else rows + sparse.dense(low, high)


def rows_between(tensor: SlmTensor, low: int, high: int) -> F32:
    """Some rows of a tensor, seen as a matrix, as float32. Raises as `row_slices`."""
    if tensor.residual_of is not None:
        return sparse_of(tensor).dense(low, high)
    if tensor.dtype == DType.f32:
        return dense_f32(tensor).reshape(tensor.rows, tensor.cols)[low:high]
    scale_row = len(tensor.scales) // tensor.rows
    return block_format(tensor.dtype.name, tensor.scale_encoding.name).dequantize(
        tensor.data[low * tensor.row_stride : high * tensor.row_stride],
        tensor.scales[low * scale_row : high * scale_row],
        high - low,
        tensor.cols,
        where=tensor.name,
        first_row=low,
    )


def sparse_of(tensor: SlmTensor) -> Sparse:
    """The entries of a residual tensor. Raises as `decode_sparse`."""
    nnz, payload = residual_payload(tensor)
    shape = tensor.rows, tensor.cols, nnz
    return decode_sparse(payload, tensor.scales, shape, tensor.dtype.name, tensor.name)
