"""Sparse residuals in CSR form: what a dense tensor lost, for its worst columns, row by row.

    payload  row_ptr u32[rows + 1], columns u16[nnz] (u32 where cols > 65,536), values[nnz]
    f16      the values in binary16
    q8_r128  int8 codes -127..127; one binary16 scale a row, in a plane of its own

Columns ascend within a row. The product of a row is an accumulator of its own over ascending
columns, added to the dense product once: y = dense + sparse.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from jaxtyping import Float32, Int64
from numpy.typing import NDArray

from trlm_lab.errors import (
    QuantCodeError,
    QuantIndexError,
    QuantNonFiniteError,
    QuantPlaneError,
)
from trlm_lab.quant.half_scales import HalfScales
from trlm_lab.quant.scale_words import refuse_scale

Array = NDArray[Any]

#: Forms of the values by dtype name, with the bytes of one.
VALUE_BYTES: Final = {"f16": 2, "q8_r128": 1}
NARROW_COLUMNS: Final = 1 << 16
_Q: Final = 127
_SCALES: Final = HalfScales()


@dataclass(frozen=True)
class Sparse:
    """A matrix (rows, cols) of few entries: row r has entries row_ptr[r] to row_ptr[r + 1]."""

    rows: int
    cols: int
    row_ptr: Int64[Array, " R1"]
    columns: Int64[Array, " NNZ"]
    values: Float32[Array, " NNZ"]

    @property
    def nnz(self) -> int:
        """Entries."""
        return len(self.columns)

    def dense(self, low: int, high: int) -> Float32[Array, "R C"]:
        """Some rows as float32, zeros between the entries."""
        out = np.zeros((high - low, self.cols), np.float32)
        first, last = int(self.row_ptr[low]), int(self.row_ptr[high])
        counts = np.diff(self.row_ptr[low : high + 1])
        out[np.repeat(np.arange(high - low), counts), self.columns[first:last]] = self.values[
            first:last
        ]
        return out


def column_dtype(cols: int) -> np.dtype[Any]:
    """The stored form of a column number."""
    return np.dtype("<u2") if cols <= NARROW_COLUMNS else np.dtype("<u4")


def encode_sparse(sparse: Sparse, value_dtype: str) -> tuple[bytes, bytes]:
    """Payload and scales of a residual; f16 rounds each value to nearest, ties to even."""
    row_ptr = sparse.row_ptr.astype("<u4").tobytes()
    columns = sparse.columns.astype(column_dtype(sparse.cols)).tobytes()
    if value_dtype == "f16":
        with np.errstate(under="ignore"):
            return row_ptr + columns + sparse.values.astype("<f2").tobytes(), b""
    counts = np.diff(sparse.row_ptr)
    row_of = np.repeat(np.arange(sparse.rows), counts)
    absmax = np.zeros((sparse.rows, 1), np.float32)
    np.maximum.at(absmax[:, 0], row_of, np.abs(sparse.values))
    words = _SCALES.choose(absmax, _Q, where="residual", first_row=0)
    divisors = _SCALES.values(words)[row_of, 0]
    divisors[divisors == 0] = 1
    codes = np.clip(np.rint(sparse.values / divisors), -_Q, _Q).astype(np.int8)
    return row_ptr + columns + codes.tobytes(), words.tobytes()


def decode_sparse(
    data: memoryview, scales: memoryview, shape: tuple[int, int, int], value_dtype: str, where: str
) -> Sparse:
    """A residual of (rows, cols, nnz) from its payload; refuses what no writer produces.

    Raises:
        QuantPlaneError: a payload or scale plane of the wrong size.
        QuantIndexError: row pointers or columns that do not ascend, or leave the matrix.
        QuantNonFiniteError: a value that is NaN or infinite.
        QuantCodeError, QuantScaleError: as in q8_r128.
    """
    rows, cols, nnz = shape
    kind, of_pointers = column_dtype(cols), 4 * (rows + 1)
    of_columns = of_pointers + nnz * kind.itemsize
    expected = of_columns + nnz * VALUE_BYTES[value_dtype]
    wanted = 2 * rows if value_dtype == "q8_r128" else 0
    for plane, got, need in (("the residual", len(data), expected),
                             ("its scales", len(scales), wanted)):  # fmt: skip
        if got != need:
            raise QuantPlaneError(
                where=where, plane=plane, got=got, rows=rows, cols=cols, expected=need
            )
    row_ptr = np.frombuffer(data[:of_pointers], "<u4").astype(np.int64)
    columns = np.frombuffer(data[of_pointers:of_columns], kind).astype(np.int64)
    _check_rows(row_ptr, nnz, where)
    row_of = np.repeat(np.arange(rows), np.diff(row_ptr))
    _check_columns(columns, row_of, cols, where)
    values = _values(data[of_columns:], scales, row_of, columns, value_dtype, where)
    return Sparse(rows, cols, row_ptr, columns, values)


def _check_rows(row_ptr: Int64[Array, " R1"], nnz: int, where: str) -> None:
    for at, wanted in ((0, 0), (len(row_ptr) - 1, nnz)):
        if row_ptr[at] != wanted:
            raise QuantIndexError(
                where=where, part="row pointer", at=at, got=int(row_ptr[at]), expected=wanted
            )
    down = np.diff(row_ptr) < 0
    if down.any():
        at = int(np.argmax(down))
        raise QuantIndexError(
            where=where, part="row pointer", at=at + 1, got=int(row_ptr[at + 1]),
            expected=f"at least {int(row_ptr[at])}",
        )  # fmt: skip


def _check_columns(
    columns: Int64[Array, " NNZ"], row_of: Int64[Array, " NNZ"], cols: int, where: str
) -> None:
    beyond = columns >= cols
    if beyond.any():
        at = int(np.argmax(beyond))
        got, wanted = int(columns[at]), f"below {cols}"
        raise QuantIndexError(where=where, part="column of entry", at=at, got=got, expected=wanted)
    back = (np.diff(columns) <= 0) & (np.diff(row_of) == 0)
    if back.any():
        at = int(np.argmax(back)) + 1
        wanted = f"above {int(columns[at - 1])} in row {int(row_of[at])}"
        got = int(columns[at])
        raise QuantIndexError(where=where, part="column of entry", at=at, got=got, expected=wanted)


def _values(
    data: memoryview,
    scales: memoryview,
    row_of: Int64[Array, " NNZ"],
    columns: Int64[Array, " NNZ"],
    value_dtype: str,
    where: str,
) -> Float32[Array, " NNZ"]:
    if value_dtype == "f16":
        halves = np.frombuffer(data, "<f2").astype(np.float32)
        if not np.isfinite(halves).all():
            at = int(np.argmax(~np.isfinite(halves)))
            raise QuantNonFiniteError(
                where=where, tensor=where, value=halves[at], row=int(row_of[at]),
                column=int(columns[at]),
            )  # fmt: skip
        return halves
    codes = np.frombuffer(data, np.int8)
    if codes.min(initial=0) < -_Q:
        at = int(np.argmin(codes))
        raise QuantCodeError(
            where=where, row=int(row_of[at]), column=int(columns[at]), value=-128, why="below -127"
        )
    words = np.frombuffer(scales, "<u2").reshape(-1, 1)
    _SCALES.check(words, _Q, where=where, first_row=0)
    factors = _SCALES.values(words)
    lost = (factors[row_of, 0] == 0) & (codes != 0)
    if lost.any():
        row = int(row_of[int(np.argmax(lost))])
        why = "0 with a nonzero code"
        refuse_scale(words, factors, (row, 0), why, where=where, first_row=0)
    values: Float32[Array, " NNZ"] = codes.astype(np.float32) * factors[row_of, 0]
    return values
