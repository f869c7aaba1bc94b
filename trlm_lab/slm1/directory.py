"""The tensor directory: 64 bytes a tensor, each of which the header's shape explains."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NoReturn

from trlm_lab.errors import (
    Slm1AlignmentError,
    Slm1DtypeError,
    Slm1Error,
    Slm1OverlapError,
    Slm1ShapeError,
    Slm1TensorSetError,
)
from trlm_lab.slm1.codecs import CODECS, Codec, DType
from trlm_lab.slm1.header import Header
from trlm_lab.slm1.layout import ALIGN, ENTRY, ENTRY_LEN, ENTRY_OFFSETS
from trlm_lab.slm1.names import OUTPUT, NamedTensor, fnv1a64, tensors_of
from trlm_lab.slm1.window import Window


@dataclass(frozen=True)
class Entry:
    """One row of the directory; offsets are absolute, lengths in bytes."""

    name_hash: int
    dtype: int
    rank: int
    dims: tuple[int, ...]
    byte_offset: int
    byte_length: int
    scale_offset: int
    block_size: int
    reserved: int = 0

    def encode(self) -> bytes:
        """The 64 bytes."""
        dims = self.dims + (0,) * (4 - len(self.dims))
        return ENTRY.pack(
            self.name_hash, self.dtype, self.rank, *dims, self.byte_offset, self.byte_length,
            self.scale_offset, self.block_size, self.reserved,
        )  # fmt: skip


@dataclass(frozen=True)
class Placed:
    """A tensor of the model at its place in the file; without scales, `scales` is (0, 0)."""

    named: NamedTensor
    entry: Entry
    codec: Codec
    data: tuple[int, int]
    scales: tuple[int, int]

    @property
    def rows(self) -> int:
        """Rows of the tensor seen as a matrix; a vector is one."""
        return math.prod(self.named.dims[:-1])

    @property
    def cols(self) -> int:
        """Columns."""
        return self.named.dims[-1]


class _Row:
    """An entry at its place, for checks that name field, byte, and both values."""

    def __init__(self, window: Window, start: int, index: int) -> None:
        self.window, self.start, self.index = window, start, index
        h, dtype, rank, *rest = ENTRY.unpack_from(window.view, start)
        self.entry = Entry(h, dtype, rank, tuple(rest[:4]), *rest[4:])

    def place(self, name: str) -> int:
        """Byte offset of a field."""
        return self.start + ENTRY_OFFSETS[name]

    def refuse(self, error: type[Slm1Error], name: str, expected: Any, got: Any = None) -> NoReturn:
        """Raise `error` for the field `name`."""
        raise error(
            where=self.window.at(self.place(name)),
            field=f"entry {self.index} {name}",
            got=getattr(self.entry, name) if got is None else got,
            expected=expected,
        )

    def expect(self, name: str, value: Any) -> None:
        """Refuse another value than this one."""
        if getattr(self.entry, name) != value:
            self.refuse(Slm1ShapeError, name, value)


def read_directory(window: Window, header: Header) -> tuple[Placed, ...]:
    """Every tensor in directory order, checked alone and then against the others.

    Raises:
        Slm1Error: one class per broken rule.
    """
    wanted = {fnv1a64(tensor.name): tensor for tensor in tensors_of(header)}
    found: list[Placed] = []
    for index in range(header.tensor_count):
        row = _Row(window, header.tensor_directory_offset + ENTRY_LEN * index, index)
        named = wanted.pop(row.entry.name_hash, None)
        if named is None:
            got = f"{row.entry.name_hash:#018x}"
            expected = "the hash of a tensor of the model that is not there yet"
            row.refuse(Slm1TensorSetError, "name_hash", expected, got)
        found.append(_placed(row, named, header))
    # The header's count leaves one name at most.
    left = [tensor.name for tensor in wanted.values()]
    if left not in ([], [OUTPUT]) or (left and not header.tied):
        raise Slm1TensorSetError(
            where=window.at(header.tensor_directory_offset),
            field="the directory",
            got=f"no {left[0]}",
            expected="every tensor of the model",
        )
    _check_payloads(window, header, found)
    _check_tied_head(window, header, found)
    return tuple(found)


def _placed(row: _Row, named: NamedTensor, header: Header) -> Placed:
    entry, cols = row.entry, named.dims[-1]
    row.window.check_zero(f"entry {row.index} reserved", row.start + 60, row.start + 64)
    if entry.dtype not in list(DType):
        known = ", ".join(f"{one.name} {one.value}" for one in DType)
        row.refuse(Slm1DtypeError, "dtype", known)
    codec = CODECS[DType(entry.dtype)]
    row.expect("rank", len(named.dims))
    row.expect("dims", named.dims + (0,) * (4 - len(named.dims)))
    if codec.dtype != DType.q4_0:
        row.expect("block_size", codec.block_of(cols, 0))
    elif entry.block_size == 0 or entry.block_size % 2 or cols % entry.block_size:
        row.refuse(Slm1ShapeError, "block_size", f"an even divisor of {cols} columns")
    rows = math.prod(named.dims[:-1])
    row.expect("byte_length", rows * codec.row_bytes(cols))
    scale_length = rows * codec.scale_bytes(cols, entry.block_size)
    if not scale_length:
        row.expect("scale_offset", 0)
    _check_span(row, header, "byte_offset", entry.byte_length)
    if scale_length:
        _check_span(row, header, "scale_offset", scale_length)
    data = entry.byte_offset, entry.byte_offset + entry.byte_length
    scales = entry.scale_offset, entry.scale_offset + scale_length
    return Placed(named, entry, codec, data, scales)


def _check_span(row: _Row, header: Header, name: str, length: int) -> None:
    start = getattr(row.entry, name)
    field, low = f"entry {row.index} {name}", header.tensor_data_offset
    row.window.check_range(field, row.place(name), start, length, low)
    if start % ALIGN:
        row.refuse(Slm1AlignmentError, name, ALIGN)


def _check_payloads(window: Window, header: Header, found: list[Placed]) -> None:
    """Payloads are disjoint, in any order; what is between and behind them is zero, and short."""
    spans = sorted(
        (*span, index, name)
        for index, placed in enumerate(found)
        for name, span in (("byte_offset", placed.data), ("scale_offset", placed.scales))
        if span[0] < span[1]
    )
    at = header.tensor_data_offset
    for start, end, index, name in spans:
        place = header.tensor_directory_offset + ENTRY_LEN * index + ENTRY_OFFSETS[name]
        if start < at:
            raise Slm1OverlapError(
                where=window.at(place), field=f"entry {index} {name}", got=start, expected=at
            )
        window.check_zero(f"the padding before entry {index} {name}", at, start)
        at = end
    size = len(window.view)
    if size - at >= ALIGN:
        raise Slm1ShapeError(
            where=window.at(at),
            field="the last payload's end",
            got=at,
            expected=f"above {size - ALIGN}",
        )
    window.check_zero("the padding at the end", at, size)


def _check_tied_head(window: Window, header: Header, found: list[Placed]) -> None:
    """`output.weight` may stand beside the tied flag only with the embedding's bytes."""
    by_name = {placed.named.name: (i, placed) for i, placed in enumerate(found)}
    if not header.tied or OUTPUT not in by_name:
        return
    index, head = by_name[OUTPUT]
    _, embedding = by_name["tok_embeddings.weight"]
    same = (head.entry.dtype, head.entry.block_size) == (
        embedding.entry.dtype,
        embedding.entry.block_size,
    )
    for one, other in ((head.data, embedding.data), (head.scales, embedding.scales)):
        same = same and window.view[slice(*one)] == window.view[slice(*other)]
    if not same:
        raise Slm1TensorSetError(
            where=window.at(header.tensor_directory_offset + ENTRY_LEN * index),
            field=f"entry {index} output.weight beside the tied flag",
            got="other than the embedding",
            expected="its dtype, block size and bytes",
        )
