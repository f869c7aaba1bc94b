"""Weights of an `.slm`, decoded a block of rows at a time from the mapped file."""

from __future__ import annotations

import numpy as np

from trlm_lab.base.interfaces import BlockFormat
from trlm_lab.errors import QuantNonFiniteError, UnsupportedModelError
from trlm_lab.ops.arithmetic import Array
from trlm_lab.ops.matmul import RowBlocks
from trlm_lab.ops.sparse import WithResidual
from trlm_lab.quant import GROUPED, block_format
from trlm_lab.quant.sparse import Sparse, decode_sparse
from trlm_lab.slm.numbers import DType
from trlm_lab.slm.read import SlmFile, SlmTensor, dense_f32, residual_payload

#: Elements decoded at a time: 16 MB of float32.
SLICE_ELEMENTS = 4 << 20
DENSE = (DType.f32, DType.f16, DType.bf16)


class CodedRows:
    """A grouped matrix; rows come out as float32(code) * float32(scale), one rounding."""

    def __init__(self, tensor: SlmTensor) -> None:
        self.tensor = tensor
        self.format: BlockFormat = block_format(tensor.dtype.name, tensor.scale_encoding.name)

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
        scale_row = self.format.scale_row(t.cols)
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
    if tensor.dtype.name in GROUPED and len(tensor.dims) == 2:
        return CodedRows(tensor)
    detail = f"the tensor {tensor.name!r} is stored as {tensor.dtype.name}, rank {len(tensor.dims)}"
    raise UnsupportedModelError(where=tensor.name, detail=detail)


def sparse_rows(tensor: SlmTensor) -> Sparse:
    """The entries of a sparse residual.

    Raises:
        Refused: entries that no packer writes.
    """
    nnz, payload = residual_payload(tensor)
    shape = tensor.rows, tensor.cols, nnz
    return decode_sparse(payload, tensor.scales, shape, tensor.dtype.name, tensor.name)


def check_content(slm: SlmFile) -> None:
    """Every plane of a file, in slices: what no packer writes is refused.

    Raises:
        QuantScaleError, QuantCodeError, QuantPaddingError, QuantIndexError: see `trlm_lab.quant`.
        QuantNonFiniteError: a stored float that is NaN or infinite.
    """
    for tensor in slm.tensors:
        if tensor.residual_of is not None:
            sparse_rows(tensor)
        elif tensor.alias_of is None:
            _check_plane(tensor)


def _check_plane(tensor: SlmTensor) -> None:
    if tensor.dtype in DENSE:
        values = dense_f32(tensor).reshape(tensor.rows, tensor.cols)
        bad = ~np.isfinite(values)
        if bad.any():
            row, column = (int(i) for i in np.argwhere(bad)[0])
            raise QuantNonFiniteError(
                where=tensor.name, tensor=tensor.name, value=values[row, column], row=row,
                column=column,
            )  # fmt: skip
        return
    rows = CodedRows(tensor)
    step = max(1, SLICE_ELEMENTS // tensor.cols)
    for low in range(0, tensor.rows, step):
        rows[low : low + step]


def slm_tensors(slm: SlmFile) -> dict[str, RowBlocks]:
    """Every tensor of the model by name, with its residual; an alias shows its target's rows."""
    sparse = {t.residual_of: sparse_rows(t) for t in slm.tensors if t.residual_of}
    made: dict[str, RowBlocks] = {}
    found: dict[str, RowBlocks] = {}
    for tensor in slm.tensors:
        if tensor.residual_of is not None:
            continue
        # One object for all names of a matrix: whoever holds its rows holds them once.
        target = tensor.alias_of or tensor.name
        if target not in made:
            rows, residual = rows_of(tensor), sparse.get(target)
            made[target] = rows if residual is None else WithResidual(rows, residual)
        found[tensor.name] = made[target]
    return found
