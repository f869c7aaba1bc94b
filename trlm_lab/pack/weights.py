"""Weights of an opened artifact as float32, in slices of rows: joins slm and quant."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from trlm_lab.quant import FORMATS
from trlm_lab.slm.numbers import DType
from trlm_lab.slm.read import SlmTensor, dense_f32

DENSE = (DType.f32, DType.f16, DType.bf16)
SLICE_ELEMENTS = 4 << 20


def row_slices(tensor: SlmTensor) -> Iterator[NDArray[np.float32]]:
    """The tensor as float32 matrices of consecutive rows, about 16 MB each.

    Raises:
        QuantScaleError, QuantCodeError, QuantPaddingError: planes that no writer produces.
    """
    step = max(1, SLICE_ELEMENTS // tensor.cols)
    for low in range(0, tensor.rows, step):
        yield rows_between(tensor, low, min(low + step, tensor.rows))


def rows_between(tensor: SlmTensor, low: int, high: int) -> NDArray[np.float32]:
    """Some rows of a tensor, seen as a matrix, as float32. Raises as `row_slices`."""
    if tensor.dtype in DENSE:
        return dense_f32(tensor).reshape(tensor.rows, tensor.cols)[low:high]
    scale_row = len(tensor.scales) // tensor.rows
    return FORMATS[tensor.dtype.name].dequantize(
        tensor.data[low * tensor.row_stride : high * tensor.row_stride],
        tensor.scales[low * scale_row : high * scale_row],
        high - low,
        tensor.cols,
        where=tensor.name,
        first_row=low,
    )
