"""Weights of an `.slm`, decoded a block of rows at a time from the mapped file."""

from __future__ import annotations

import numpy as np

from trlm_lab.errors import UnsupportedModelError
from trlm_lab.ops.arithmetic import Array
from trlm_lab.ops.matmul import RowBlocks
from trlm_lab.quant.q8_r128 import Q8R128, groups_of
from trlm_lab.slm.numbers import DType
from trlm_lab.slm.read import SlmFile, SlmTensor, dense_f32

DENSE = (DType.f32, DType.f16, DType.bf16)


class Q8Rows:
    """A q8_r128 matrix; rows come out as float32(code) * float32(scale), one rounding."""

    def __init__(self, tensor: SlmTensor) -> None:
        self.tensor = tensor
        self.format = Q8R128()

    @property
    def shape(self) -> tuple[int, ...]:
        """The tensor's dimensions."""
        return self.tensor.dims

    def __getitem__(self, rows: slice) -> Array:
        """The rows of a slice of step 1, (n, cols).

        Raises:
            Refused: a code or scale that no packer writes.
        """
        t = self.tensor
        low, high, _ = rows.indices(t.rows)
        scale_row = 2 * groups_of(t.cols)
        return self.format.dequantize(
            t.data[low * t.row_stride : high * t.row_stride],
            t.scales[low * scale_row : high * scale_row],
            high - low,
            t.cols,
            where=t.name,
            first_row=low,
        )


def rows_of(tensor: SlmTensor) -> RowBlocks:
    """The tensor as something that hands out float32 rows.

    Raises:
        UnsupportedModelError: a storage format that this engine cannot decode.
    """
    if tensor.dtype in DENSE:
        return np.asarray(dense_f32(tensor))
    if tensor.dtype == DType.q8_r128 and len(tensor.dims) == 2:
        return Q8Rows(tensor)
    detail = f"the tensor {tensor.name!r} is stored as {tensor.dtype.name}, rank {len(tensor.dims)}"
    raise UnsupportedModelError(where=tensor.name, detail=detail)


def slm_tensors(slm: SlmFile) -> dict[str, RowBlocks]:
    """Every tensor of the file by name; an alias shows its target's rows."""
    return {tensor.name: rows_of(tensor) for tensor in slm.tensors}
