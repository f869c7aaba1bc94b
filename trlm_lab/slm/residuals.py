"""Sparse residual tensors: the header of 40 bytes before row pointers, columns and values.

A residual adds to a dense tensor of the file, its base. Its payload follows from the base's rows
and columns and the number of entries: `row_ptr` u32[rows + 1] behind the header, `col_idx`
(u16 where cols <= 65,536, else u32), `values` (binary16, or int8 codes whose row scales are the
scale plane), without gaps. What the arrays hold is the business of `trlm_lab.quant.sparse`.
"""

from __future__ import annotations

import math

from trlm_lab.slm.layout import RESIDUAL
from trlm_lab.slm.numbers import DType, ScaleEncoding
from trlm_lab.slm.planes import Planes

CSR = 1
SUFFIX = ".residual"
#: Bytes of a value by dtype.
VALUE_BYTES = {DType.f16: 2, DType.q8_r128: 1}
#: The scale encoding that goes with a dtype of values.
VALUE_SCALES = {DType.f16: ScaleEncoding.none, DType.q8_r128: ScaleEncoding.fp16}
_NARROW_COLUMNS = 1 << 16


def residual_fields(dims: tuple[int, ...], dtype: DType, nnz: int) -> dict[str, int]:
    """The header's fields for a base of these dimensions."""
    rows, cols = math.prod(dims[:-1]), dims[-1]
    columns_off = RESIDUAL.size + 4 * (rows + 1)
    values_off = columns_off + nnz * (2 if cols <= _NARROW_COLUMNS else 4)
    return {
        "format": CSR,
        "value_dtype": int(dtype),
        "rows": rows,
        "cols": cols,
        "nnz": nnz,
        "row_ptr_off": RESIDUAL.size,
        "col_idx_off": columns_off,
        "values_off": values_off,
    }


def residual_header(dims: tuple[int, ...], dtype: DType, nnz: int) -> bytes:
    """The 40 bytes."""
    return RESIDUAL.pack(residual_fields(dims, dtype, nnz))


def residual_planes(dims: tuple[int, ...], dtype: DType, nnz: int) -> Planes:
    """Sizes of a residual: its payload with the header, and its scale plane; stride 0."""
    fields = residual_fields(dims, dtype, nnz)
    data_len = fields["values_off"] + nnz * VALUE_BYTES[dtype]
    scales = 2 * fields["rows"] if dtype == DType.q8_r128 else 0
    return Planes(fields["rows"], fields["cols"], 0, data_len, scales)
