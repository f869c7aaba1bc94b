"""Tensor descriptors: the 128-byte rows of the directory and what each may say on its own."""

from __future__ import annotations

from dataclasses import dataclass, fields
from enum import IntEnum
from typing import Any, NoReturn, TypeVar

from trlm_lab.errors import (
    SlmAliasError,
    SlmAlignmentError,
    SlmError,
    SlmFlagError,
    SlmNumberError,
    SlmShapeError,
    SlmUnsupportedError,
)
from trlm_lab.slm.header import Header
from trlm_lab.slm.layout import (
    MAX_RANK,
    NO_ALIAS,
    PAYLOAD_ALIGN,
    PIECE_SIZE,
    RESIDUAL,
    TENSOR_DESC,
)
from trlm_lab.slm.numbers import DType, Layout, Role, ScaleEncoding, TensorFlag
from trlm_lab.slm.planes import PLANE_RULES, Planes, planes_of
from trlm_lab.slm.residuals import VALUE_SCALES, residual_fields, residual_planes
from trlm_lab.slm.window import Window

Number = TypeVar("Number", bound=IntEnum)
KNOWN_FLAGS = int(TensorFlag.tied | TensorFlag.optional | TensorFlag.entropy_compressed_piecewise)


@dataclass(frozen=True)
class TensorDesc:
    """One row of the directory; offsets are absolute, lengths in bytes."""

    name_id: int
    role: int
    dtype: int
    layout: int
    scale_encoding: int
    flags: int
    rank: int
    dim_count: int
    dims: tuple[int, ...]
    logical_nbytes: int
    data_off: int
    data_len: int
    aux_off: int
    aux_len: int
    alias_of: int
    first_piece: int
    piece_count: int
    sha256_trunc128: bytes
    row_stride: int

    def encode(self) -> bytes:
        """The 128 bytes."""
        return TENSOR_DESC.pack({f.name: getattr(self, f.name) for f in fields(self)})

    @property
    def shape(self) -> tuple[int, ...]:
        """The used dimensions."""
        return self.dims[: self.rank]

    @property
    def planes(self) -> Planes:
        """Sizes that dimensions, dtype and scale encoding ask for (a dense tensor)."""
        return planes_of(self.shape, DType(self.dtype), ScaleEncoding(self.scale_encoding))


class Row:
    """A descriptor at its place, for checks that name field, byte, and both values."""

    def __init__(self, window: Window, start: int, index: int) -> None:
        self.window, self.start, self.index = window, start, index
        self.desc = TensorDesc(**TENSOR_DESC.unpack(window.view, start))

    def refuse(self, error: type[SlmError], name: str, expected: Any, got: Any = None) -> NoReturn:
        """Raise `error` for the field `name`."""
        raise error(
            where=self.window.at(self.start + TENSOR_DESC.offset(name)),
            field=f"tensor {self.index} {name}",
            got=getattr(self.desc, name) if got is None else got,
            expected=expected,
        )

    def expect(self, name: str, value: Any, error: type[SlmError] = SlmShapeError) -> None:
        """Refuse another value than this one."""
        if getattr(self.desc, name) != value:
            self.refuse(error, name, value)

    def number(self, name: str, kind: type[Number]) -> Number:
        """The field as a number of the format's tables."""
        try:
            return kind(getattr(self.desc, name))
        except ValueError:
            known = ", ".join(f"{m.name} {m.value}" for m in kind)
            self.refuse(SlmNumberError, name, known)


def check_row(row: Row, header: Header) -> None:
    """Everything a descriptor must satisfy without looking at its neighbours.

    Raises:
        SlmReservedError, SlmNumberError, SlmUnsupportedError, SlmFlagError, SlmShapeError,
        SlmAlignmentError, SlmRangeError, SlmAliasError.
    """
    for start, end in TENSOR_DESC.reserved:
        row.window.check_zero(f"tensor {row.index} reserved", row.start + start, row.start + end)
    _check_numbers(row)
    _check_dims(row)
    if row.desc.layout == Layout.alias:
        for name in ("data_off", "data_len", "aux_off", "aux_len", "row_stride",
                     "scale_encoding", "first_piece", "piece_count"):  # fmt: skip
            row.expect(name, 0, SlmAliasError)
    elif row.desc.layout == Layout.dense:
        row.expect("alias_of", NO_ALIAS, SlmAliasError)
        _check_payload(row, header, row.desc.planes)
    else:
        _check_residual(row, header)


def _check_numbers(row: Row) -> None:
    row.number("role", Role)
    dtype, layout = row.number("dtype", DType), row.number("layout", Layout)
    encoding = row.number("scale_encoding", ScaleEncoding)
    if row.desc.flags & ~KNOWN_FLAGS:
        row.refuse(SlmFlagError, "flags", f"no bit beyond {KNOWN_FLAGS:#x}")
    if row.desc.flags & TensorFlag.entropy_compressed_piecewise:
        row.refuse(SlmUnsupportedError, "flags", "no entropy_compressed_piecewise (reserved)")
    if layout == Layout.external_piece_map:
        known = "dense 0, alias 1, sparse_residual 2"
        row.refuse(SlmUnsupportedError, "layout", known, f"{layout.name} {layout}")
    allowed = PLANE_RULES[dtype].scale_encodings
    if layout == Layout.sparse_residual:
        if dtype not in VALUE_SCALES:
            row.refuse(SlmShapeError, "dtype", "f16 or q8_r128 for residual values", dtype.name)
        allowed = (VALUE_SCALES[dtype],)
    if layout != Layout.alias and encoding not in allowed:
        names = ", ".join(e.name for e in allowed)
        row.refuse(SlmShapeError, "scale_encoding", f"{names} for {dtype.name}")


def _check_dims(row: Row) -> None:
    desc = row.desc
    if not 1 <= desc.rank <= MAX_RANK:
        row.refuse(SlmShapeError, "rank", f"1 to {MAX_RANK}")
    row.expect("dim_count", desc.rank)
    if 0 in desc.shape:
        row.refuse(SlmShapeError, "dims", "used dimensions above 0")
    if any(desc.dims[desc.rank :]):
        row.refuse(SlmShapeError, "dims", f"zeros after the first {desc.rank}")


def _check_payload(row: Row, header: Header, planes: Planes) -> None:
    desc = row.desc
    row.expect("row_stride", planes.row_stride)
    row.expect("data_len", planes.data_len)
    row.expect("logical_nbytes", desc.data_len)
    row.expect("aux_len", planes.aux_len)
    if desc.aux_len == 0:
        row.expect("aux_off", 0)
    _check_span(row, header, "data_off", desc.data_off, desc.data_len)
    if desc.aux_len:
        _check_span(row, header, "aux_off", desc.aux_off, desc.aux_len)
    first, count = pieces_of(desc, header.body_off)
    row.expect("first_piece", first)
    row.expect("piece_count", count)


def _check_residual(row: Row, header: Header) -> None:
    """The payload of a residual, and the header at its start.

    Raises:
        SlmShapeError, SlmAlignmentError, SlmRangeError: as for a dense tensor; a header that
            contradicts the descriptor.
    """
    desc = row.desc
    if desc.data_len < RESIDUAL.size:
        row.refuse(SlmShapeError, "data_len", f"at least {RESIDUAL.size}")
    _check_span(row, header, "data_off", desc.data_off, desc.data_len)
    found = RESIDUAL.unpack(row.window.view, desc.data_off)
    nnz, dtype = found["nnz"], DType(desc.dtype)
    wanted: dict[str, Any] = {**residual_fields(desc.shape, dtype, nnz), "nnz": nnz or "above 0"}
    for name, value in found.items():
        if value != wanted[name]:
            raise SlmShapeError(
                where=row.window.at(desc.data_off + RESIDUAL.offset(name)),
                field=f"tensor {row.index} residual {name}",
                got=value,
                expected=wanted[name],
            )
    _check_payload(row, header, residual_planes(desc.shape, dtype, nnz))


def _check_span(row: Row, header: Header, name: str, start: int, length: int) -> None:
    row.window.check_range(
        f"tensor {row.index} {name}",
        row.start + TENSOR_DESC.offset(name),
        start,
        length,
        (header.body_off, header.artifact_len),
    )
    if start % PAYLOAD_ALIGN:
        row.refuse(SlmAlignmentError, name, PAYLOAD_ALIGN)


def pieces_of(desc: TensorDesc, body_off: int) -> tuple[int, int]:
    """First piece and number of pieces that data and scales of a stored tensor touch."""
    end = desc.aux_off + desc.aux_len if desc.aux_len else desc.data_off + desc.data_len
    first = (desc.data_off - body_off) // PIECE_SIZE
    last = (end - body_off - 1) // PIECE_SIZE
    return first, last - first + 1
