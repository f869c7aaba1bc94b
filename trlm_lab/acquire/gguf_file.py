"""The GGUF container, read defensively: header, key/values and tensor table over a memory map.

Bounds, counts, types, duplicates, overlaps and gaps are checked before anything is exposed, and
nothing is allocated by a declared size alone. Little-endian versions 2 and 3. Stricter than the
format's own reader: Booleans are 0 or 1, floats are finite, arrays do not nest, tensors leave no
byte unexplained. Source: the published GGUF specification of the ggml project.
"""

from __future__ import annotations

import hashlib
import mmap
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trlm_lab.acquire.gguf_cursor import Cursor
from trlm_lab.base.plain_file import open_plain
from trlm_lab.errors import GgufError

MAX_RANK = 4
MAX_KEY_BYTES = 65535
MAX_NAME_BYTES = 64
DEFAULT_ALIGNMENT = 32
#: The largest llama, of 126 layers, has 1,138 tensors; no model in use has a hundred keys.
MAX_TENSORS, MAX_FIELDS = 1 << 14, 1 << 12
#: The fewest bytes of an entry: a count that the rest of the file cannot hold is refused at once.
_LEAST_FIELD, _LEAST_TENSOR, _LEAST_TEXT = 13, 32, 8

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
    """A parsed file; tensor bytes are read through `read_rows`."""

    path: Path
    version: int
    fields: dict[str, GgufField]
    tensors: dict[str, GgufTensor]

    def row_count(self, name: str) -> int:
        """Stored rows of a tensor; a vector has one."""
        shape = self.tensors[name].shape
        return 1 if len(shape) == 1 else shape[0]

    def read_rows(self, name: str, first: int, last: int) -> NDArray[np.uint8]:
        """A copy of stored rows, (last - first, bytes of a row); nothing else stays in memory.

        Raises:
            GgufError: the file has become shorter.
        """
        tensor = self.tensors[name]
        width = (tensor.end - tensor.begin) // self.row_count(name)
        with open_plain(self.path) as stream:
            stream.seek(tensor.begin + first * width)
            data = stream.read((last - first) * width)
        if len(data) != (last - first) * width:
            where = f"{self.path.name}:{name}"
            raise GgufError(where=where, detail="the file became shorter while it was read")
        return np.frombuffer(data, np.uint8).reshape(last - first, width)

    def stored_sha256(self, name: str) -> str:
        """SHA-256 of the stored bytes of a tensor, in constant memory."""
        tensor, digest = self.tensors[name], hashlib.sha256()
        with open_plain(self.path) as stream:
            stream.seek(tensor.begin)
            left = tensor.end - tensor.begin
            while left > 0 and (chunk := stream.read(min(left, 1 << 20))):
                digest.update(chunk)
                left -= len(chunk)
        return digest.hexdigest()


def read_gguf(path: Path) -> GgufFile:
    """Parse a GGUF file.

    Raises:
        GgufError: any broken rule of the container; `where` names the byte or tensor.
    """
    try:
        with open_plain(path) as stream, mmap.mmap(stream.fileno(), 0, prot=mmap.PROT_READ) as data:
            return _parse(Cursor(data, path.name), path)
    except (OSError, ValueError) as error:
        # ValueError: an empty file cannot be mapped.
        raise GgufError(where=path.name, detail=f"unreadable: {error}") from error


def _parse(cursor: Cursor, path: Path) -> GgufFile:
    if cursor.take(4) != b"GGUF":
        raise cursor.fail("the file does not begin with GGUF")
    version = cursor.number("I")
    if version not in (2, 3):
        raise cursor.fail(f"version {version} is not 2 or 3 (or the file is big-endian)")
    tensor_count = cursor.count("tensors", _LEAST_TENSOR, MAX_TENSORS)
    field_count = cursor.count("key/values", _LEAST_FIELD, MAX_FIELDS)
    fields: dict[str, GgufField] = {}
    for _ in range(field_count):
        key = cursor.name("key", MAX_KEY_BYTES)
        if key in fields:
            raise cursor.fail(f"the key {key[:80]!r} occurs twice")
        fields[key] = _value(cursor, cursor.number("I"))
    raw = [_tensor_row(cursor) for _ in range(tensor_count)]
    alignment = _alignment(cursor, fields)
    start = _aligned(cursor.at, alignment)
    tensors = _placed(cursor, raw, start, alignment)
    _require_covered(cursor, tensors, alignment)
    return GgufFile(path, version, fields, tensors)


def _aligned(offset: int, alignment: int) -> int:
    return -(-offset // alignment) * alignment


def _alignment(cursor: Cursor, fields: dict[str, GgufField]) -> int:
    field = fields.get("general.alignment", GgufField("u32", DEFAULT_ALIGNMENT))
    value: int = field.value
    if field.kind != "u32" or not 8 <= value <= 1 << 16 or value & (value - 1):
        raise cursor.fail(f"general.alignment is {value!r:.80}, of the kind {field.kind}")
    return value


def _value(cursor: Cursor, kind: int) -> GgufField:
    if kind in _SCALARS:
        name, code = _SCALARS[kind]
        return GgufField(name, cursor.scalars(name, code, 1)[0])
    if kind == _STRING:
        return GgufField("string", cursor.text())
    if kind != _ARRAY:
        raise cursor.fail(f"value type {kind} is unknown")
    inner = cursor.number("I")
    if inner in _SCALARS:
        name, code = _SCALARS[inner]
        count = cursor.element_count(struct.calcsize("<" + code))
        return GgufField(f"array of {name}", cursor.scalars(name, code, count))
    if inner == _STRING:
        return GgufField("array of string", cursor.texts(cursor.element_count(_LEAST_TEXT)))
    raise cursor.fail(f"arrays of value type {inner} are not read")


def _tensor_row(cursor: Cursor) -> tuple[str, tuple[int, ...], int, int]:
    name = cursor.name("tensor name", MAX_NAME_BYTES)
    rank = cursor.number("I")
    if not 1 <= rank <= MAX_RANK:
        raise cursor.fail(f"tensor {name!r} has rank {rank}")
    dims = tuple(reversed([cursor.number("Q") for _ in range(rank)]))
    return name, dims, cursor.number("I"), cursor.number("Q")


def _placed(
    cursor: Cursor, raw: list[tuple[str, tuple[int, ...], int, int]], start: int, alignment: int
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


def _require_covered(cursor: Cursor, tensors: dict[str, GgufTensor], alignment: int) -> None:
    """Tensors follow one another with zeros up to the next aligned byte, and end the file."""
    position, size = cursor.at, len(cursor.data)
    for tensor in sorted(tensors.values(), key=lambda t: t.begin):
        where = f"{cursor.where}:{tensor.name}"
        if tensor.begin < position:
            raise GgufError(where=where, detail="the tensor overlaps another")
        if tensor.begin != _aligned(position, alignment):
            detail = f"bytes {position}..{tensor.begin} before it belong to nothing"
            raise GgufError(where=where, detail=detail)
        _require_zeros(cursor, position, tensor.begin)
        position = tensor.end
    if size > _aligned(position, alignment):
        detail = f"{size - position} bytes after the last tensor belong to nothing"
        raise GgufError(where=cursor.where, detail=detail)
    _require_zeros(cursor, position, size)


def _require_zeros(cursor: Cursor, begin: int, end: int) -> None:
    """A padding; it is shorter than the alignment."""
    padding = cursor.data[begin:end]
    if padding.strip(b"\0"):
        raise GgufError(where=f"{cursor.where}, byte {begin}", detail="the padding is not zero")
