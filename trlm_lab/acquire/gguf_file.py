"""The GGUF container, read defensively: header, key/values and tensor table over a memory map.

Bounds, counts, types, duplicates and overlaps are checked before anything is exposed, and nothing
is allocated by a declared size alone. Little-endian versions 2 and 3. Source: the published GGUF
specification of the ggml project.
"""

from __future__ import annotations

import mmap
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trlm_lab.base.plain_file import open_plain
from trlm_lab.errors import GgufError

MAX_ENTRIES = 1 << 20
MAX_RANK = 4
DEFAULT_ALIGNMENT = 32

_SCALARS = {
    0: ("u8", "B"), 1: ("i8", "b"), 2: ("u16", "H"), 3: ("i16", "h"), 4: ("u32", "I"),
    5: ("i32", "i"), 6: ("f32", "f"), 7: ("bool", "?"), 10: ("u64", "Q"), 11: ("i64", "q"),
    12: ("f64", "d"),
}  # fmt: skip
_STRING, _ARRAY = 8, 9

#: Type number -> (name, elements of a block, bytes of a block), for what can be dequantized.
TENSOR_TYPES: dict[int, tuple[str, int, int]] = {
    0: ("F32", 1, 4), 1: ("F16", 1, 2), 30: ("BF16", 1, 2),
    2: ("Q4_0", 32, 18), 3: ("Q4_1", 32, 20), 6: ("Q5_0", 32, 22), 7: ("Q5_1", 32, 24),
    8: ("Q8_0", 32, 34),
    10: ("Q2_K", 256, 84), 11: ("Q3_K", 256, 110), 12: ("Q4_K", 256, 144), 13: ("Q5_K", 256, 176),
    14: ("Q6_K", 256, 210),
}  # fmt: skip


@dataclass(frozen=True)
class GgufField:
    """One key/value: `kind` is a scalar type, `string`, or `array of ...`."""

    kind: str
    value: Any


@dataclass(frozen=True)
class GgufTensor:
    """One tensor. `shape` is row-major (the file's dimensions reversed); the range is absolute."""

    name: str
    shape: tuple[int, ...]
    type_name: str
    begin: int
    end: int


@dataclass(frozen=True)
class GgufFile:
    """A parsed file; tensor bytes are read through `rows`."""

    path: Path
    version: int
    fields: dict[str, GgufField]
    tensors: dict[str, GgufTensor]

    def rows(self, name: str) -> NDArray[np.uint8]:
        """The stored bytes of a tensor, mapped, (rows, bytes of a row); a vector has one row."""
        tensor = self.tensors[name]
        rows = 1 if len(tensor.shape) == 1 else tensor.shape[0]
        size = tensor.end - tensor.begin
        return np.memmap(self.path, np.uint8, "r", tensor.begin, (rows, size // rows))


class _Cursor:
    """Reads forward through the bytes and refuses to pass their end."""

    def __init__(self, data: mmap.mmap, where: str) -> None:
        self.data, self.where, self.at = data, where, 0

    def fail(self, detail: str) -> GgufError:
        return GgufError(where=f"{self.where}, byte {self.at}", detail=detail)

    def take(self, size: int) -> bytes:
        if size > len(self.data) - self.at:
            raise self.fail(f"{size} bytes are wanted, {len(self.data) - self.at} are left")
        chunk = self.data[self.at : self.at + size]
        self.at += size
        return chunk

    def number(self, code: str) -> Any:
        return struct.unpack("<" + code, self.take(struct.calcsize("<" + code)))[0]

    def count(self, what: str) -> int:
        value: int = self.number("Q")
        if value > MAX_ENTRIES:
            raise self.fail(f"{value} {what}, at most {MAX_ENTRIES} are read")
        return value

    def text(self) -> str:
        raw = self.take(self.number("Q"))
        try:
            return raw.decode("utf-8")
        except UnicodeDecodeError as error:
            raise self.fail(f"a text is no UTF-8: {error.reason}") from error


def read_gguf(path: Path) -> GgufFile:
    """Parse a GGUF file.

    Raises:
        GgufError: any broken rule of the container; `where` names the byte or tensor.
    """
    try:
        with open_plain(path) as stream, mmap.mmap(stream.fileno(), 0, prot=mmap.PROT_READ) as data:
            return _parse(_Cursor(data, path.name), path)
    except (OSError, ValueError) as error:
        # ValueError: an empty file cannot be mapped.
        raise GgufError(where=path.name, detail=f"unreadable: {error}") from error


def _parse(cursor: _Cursor, path: Path) -> GgufFile:
    if cursor.take(4) != b"GGUF":
        raise cursor.fail("the file does not begin with GGUF")
    version = cursor.number("I")
    if version not in (2, 3):
        raise cursor.fail(f"version {version} is not 2 or 3 (or the file is big-endian)")
    tensor_count, field_count = cursor.count("tensors"), cursor.count("key/values")
    fields: dict[str, GgufField] = {}
    for _ in range(field_count):
        key = cursor.text()
        if key in fields:
            raise cursor.fail(f"the key {key!r} occurs twice")
        fields[key] = _value(cursor, cursor.number("I"))
    raw = [_tensor_row(cursor) for _ in range(tensor_count)]
    alignment = _alignment(cursor, fields)
    start = -(-cursor.at // alignment) * alignment
    return GgufFile(path, version, fields, _placed(cursor, raw, start, alignment))


def _alignment(cursor: _Cursor, fields: dict[str, GgufField]) -> int:
    value = fields.get("general.alignment", GgufField("u32", DEFAULT_ALIGNMENT)).value
    if not isinstance(value, int) or not 8 <= value <= 1 << 16 or value & (value - 1):
        raise cursor.fail(f"general.alignment is {value!r}")
    return value


def _value(cursor: _Cursor, kind: int) -> GgufField:
    if kind in _SCALARS:
        name, code = _SCALARS[kind]
        return GgufField(name, cursor.number(code))
    if kind == _STRING:
        return GgufField("string", cursor.text())
    if kind != _ARRAY:
        raise cursor.fail(f"value type {kind} is unknown")
    inner, count = cursor.number("I"), cursor.count("array elements")
    if inner in _SCALARS:
        name, code = _SCALARS[inner]
        raw = cursor.take(count * struct.calcsize("<" + code))
        return GgufField(f"array of {name}", list(struct.unpack(f"<{count}{code}", raw)))
    if inner == _STRING:
        return GgufField("array of string", [cursor.text() for _ in range(count)])
    raise cursor.fail(f"arrays of value type {inner} are not read")


def _tensor_row(cursor: _Cursor) -> tuple[str, tuple[int, ...], int, int]:
    name = cursor.text()
    rank = cursor.number("I")
    if not 1 <= rank <= MAX_RANK:
        raise cursor.fail(f"tensor {name!r} has rank {rank}")
    dims = tuple(reversed([cursor.number("Q") for _ in range(rank)]))
    return name, dims, cursor.number("I"), cursor.number("Q")


def _placed(
    cursor: _Cursor, raw: list[tuple[str, tuple[int, ...], int, int]], start: int, alignment: int
) -> dict[str, GgufTensor]:
    tensors: dict[str, GgufTensor] = {}
    for name, shape, kind, offset in raw:
        where = f"{cursor.where}:{name}"
        if name in tensors:
            raise GgufError(where=where, detail="the tensor occurs twice")
        size = _stored_size(shape, kind, where)
        begin, end = start + offset, start + offset + size
        if offset % alignment or end > len(cursor.data):
            detail = f"bytes {begin}..{end} are not aligned, or pass the end of the file"
            raise GgufError(where=where, detail=detail)
        tensors[name] = GgufTensor(name, shape, TENSOR_TYPES[kind][0], begin, end)
    _require_disjoint(cursor.where, tensors)
    return tensors


def _stored_size(shape: tuple[int, ...], kind: int, where: str) -> int:
    if kind not in TENSOR_TYPES:
        known = ", ".join(name for name, _, _ in TENSOR_TYPES.values())
        detail = f"tensor type {kind} is not read; known: {known}"
        raise GgufError(where=where, detail=detail)
    _, block, size = TENSOR_TYPES[kind]
    elements = 1
    for dimension in shape:
        elements *= dimension
        if not 0 < dimension < 2**31 or elements > 2**40:
            raise GgufError(where=where, detail=f"the shape {shape} is empty or too large")
    if shape[-1] % block:
        raise GgufError(where=where, detail=f"rows of {shape[-1]} are no whole blocks of {block}")
    return elements // block * size


def _require_disjoint(where: str, tensors: dict[str, GgufTensor]) -> None:
    position = 0
    for tensor in sorted(tensors.values(), key=lambda t: t.begin):
        if tensor.begin < position:
            raise GgufError(where=f"{where}:{tensor.name}", detail="the tensor overlaps another")
        position = tensor.end
