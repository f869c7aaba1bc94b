"""The safetensors container, read defensively: every rule holds before a tensor is exposed.

The verdict rests on the header and the file size alone; nothing of a size that the file declares
is allocated. Stricter than the format's own reader in five points: duplicate keys, a header that
does not start with a brace, unknown fields, a header above the two limits, and a shape that would
overflow but for a zero are refused. Whether values are finite is not judged here.

Source: the format's published description (8-byte length, JSON header, payload).
"""

from __future__ import annotations

import math
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trlm_lab import errors as e
from trlm_lab.base import strict_json
from trlm_lab.base.plain_file import open_plain

#: The format allows 100 MB, whose parsed form needs gigabytes.
MAX_HEADER_BYTES = 4 << 20
#: Commas, colons and brackets of a header; a matrix has 12, so these are 21,000 of them in a file.
#: The largest llama, of 126 layers, has 1,138 tensors in 191 files.
MAX_HEADER_MARKS = 1 << 18
MAX_OFFSET = 2**63 - 1
MAX_RANK = 32

#: Bits of one element. The types below eight bits pack several elements into a byte.
DTYPE_BITS: dict[str, int] = {
    "BOOL": 8, "U8": 8, "I8": 8, "U16": 16, "I16": 16, "U32": 32, "I32": 32, "U64": 64, "I64": 64,
    "F4": 4, "F6_E2M3": 6, "F6_E3M2": 6, "F8_E4M3": 8, "F8_E5M2": 8, "F8_E8M0": 8,
    "F16": 16, "BF16": 16, "F32": 32, "F64": 64, "C64": 64,
}  # fmt: skip

#: NumPy types of mapped tensors; BF16 comes as its raw 16 bits.
_NUMPY = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "BF16": "<u2", "I64": "<i8", "I32": "<i4",
          "I16": "<i2", "I8": "i1", "U64": "<u8", "U32": "<u4", "U16": "<u2", "U8": "u1",
          "BOOL": "u1"}  # fmt: skip


@dataclass(frozen=True)
class TensorInfo:
    """One tensor of a container: its bytes are `begin` to `end`, counted from the file's start."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    begin: int
    end: int

    @property
    def elements(self) -> int:
        """Number of elements; 1 for rank 0."""
        return math.prod(self.shape)


@dataclass(frozen=True)
class StoredTensor:
    """A tensor and the file that holds it."""

    path: Path
    info: TensorInfo


def read_header(path: Path) -> tuple[TensorInfo, ...]:
    """The tensors of a file, sorted by offset, after every structural check.

    Raises:
        NotPlainFileError: a pipe, device or directory.
        SafetensorsError: a subclass that names the broken rule.
        JsonError, JsonDuplicateKeyError: the header is not strict JSON.
    """
    where = path.name
    with open_plain(path) as stream:
        size = os.fstat(stream.fileno()).st_size
        length = _header_length(stream.read(8), size, where)
        header = stream.read(length)
    rows = _header_object(header, where)
    _check_metadata(rows.pop("__metadata__", {}), where)
    start = 8 + length
    tensors = [_tensor(name, row, start, f"{where}:{name}") for name, row in rows.items()]
    tensors.sort(key=lambda t: (t.begin, t.end, t.name))
    _check_coverage(tensors, start, size, where)
    return tuple(tensors)


def map_tensor(path: Path, tensor: TensorInfo) -> NDArray[Any]:
    """A read-only memory map of one tensor (BF16 as uint16), shape as declared.

    Raises:
        SafetensorsDtypeError: a type that NumPy cannot hold.
    """
    if tensor.dtype not in _NUMPY:
        raise e.SafetensorsDtypeError(where=path.name, tensor=tensor.name, dtype=tensor.dtype)
    dtype = np.dtype(_NUMPY[tensor.dtype])
    if tensor.elements == 0:
        return np.empty(tensor.shape, dtype)
    return np.memmap(path, dtype, "r", tensor.begin, tensor.shape or (1,)).reshape(tensor.shape)


def read_elements(path: Path, tensor: TensorInfo, first: int, count: int) -> NDArray[Any]:
    """A copy of some elements of a tensor in C order (BF16 as uint16); nothing stays mapped.

    Raises:
        SafetensorsDtypeError: a type that NumPy cannot hold.
        SafetensorsTruncatedError: the file has become shorter.
    """
    if tensor.dtype not in _NUMPY:
        raise e.SafetensorsDtypeError(where=path.name, tensor=tensor.name, dtype=tensor.dtype)
    dtype = np.dtype(_NUMPY[tensor.dtype])
    with open_plain(path) as stream:
        stream.seek(tensor.begin + first * dtype.itemsize)
        data = stream.read(count * dtype.itemsize)
    if len(data) != count * dtype.itemsize:
        detail = "the file became shorter while it was read"
        raise e.SafetensorsTruncatedError(where=f"{path.name}:{tensor.name}", detail=detail)
    return np.frombuffer(data, dtype)


def _header_length(prefix: bytes, size: int, where: str) -> int:
    if len(prefix) < 8:
        detail = f"{size} bytes cannot hold the 8-byte header length"
        raise e.SafetensorsTruncatedError(where=where, detail=detail)
    length = int.from_bytes(prefix, "little")
    limit = min(size - 8, MAX_HEADER_BYTES)
    if length > limit:
        raise e.SafetensorsHeaderLengthError(where=where, length=length, limit=limit)
    return length


def _header_object(header: bytes, where: str) -> dict[str, Any]:
    value, rest = strict_json.scan(header, where=where, marks=MAX_HEADER_MARKS)
    if not header.startswith(b"{"):
        raise e.SafetensorsHeaderStartError(where=where, first=header[:1])
    tail = rest.strip(" ")
    if tail.strip("\0\t\r\n "):
        raise e.JsonError(where=where, detail=f"{len(rest)} characters follow the header object")
    if tail:
        raise e.SafetensorsPaddingError(where=where, found=tail[:1])
    assert isinstance(value, dict)  # it starts with a brace and parsed
    return value


def _check_metadata(value: Any, where: str) -> None:
    ok = isinstance(value, dict) and all(isinstance(v, str) for v in value.values())
    if not ok:
        detail = "__metadata__ must map texts to texts"
        raise e.SafetensorsTypeError(where=f"{where}:__metadata__", detail=detail)


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _tensor(name: str, row: Any, start: int, where: str) -> TensorInfo:
    if not isinstance(row, dict) or set(row) != {"dtype", "shape", "data_offsets"}:
        detail = "a tensor has exactly the fields dtype, shape, data_offsets"
        raise e.SafetensorsTypeError(where=where, detail=detail)
    dtype, shape, offsets = row["dtype"], row["shape"], row["data_offsets"]
    if not isinstance(shape, list) or not all(map(_is_count, shape)):
        raise e.SafetensorsTypeError(where=where, detail="shape is no list of integers >= 0")
    if len(shape) > MAX_RANK:
        detail = f"rank {len(shape)}, at most {MAX_RANK} dimensions are read"
        raise e.SafetensorsTypeError(where=where, detail=detail)
    if not isinstance(offsets, list) or len(offsets) != 2 or not all(map(_is_count, offsets)):
        raise e.SafetensorsTypeError(where=where, detail="data_offsets are no two integers >= 0")
    if not isinstance(dtype, str) or dtype not in DTYPE_BITS:
        raise e.SafetensorsDtypeError(where=where, tensor=name, dtype=str(dtype)[:40])
    needed = _byte_size(name, dtype, shape, where)
    begin, end = offsets
    if begin > end or start + end > MAX_OFFSET:
        raise e.SafetensorsOffsetsError(where=where, tensor=name, begin=begin, end=end)
    if end - begin != needed:
        raise e.SafetensorsSizeError(where=where, tensor=name, needed=needed, got=end - begin)
    return TensorInfo(name, dtype, tuple(shape), start + begin, start + end)


def _byte_size(name: str, dtype: str, shape: list[int], where: str) -> int:
    bits = DTYPE_BITS[dtype]
    for dimension in shape:
        # A zero makes the size nothing; it must not hide an overflow before or after it.
        bits *= dimension or 1
        if bits > MAX_OFFSET:
            raise e.SafetensorsShapeError(where=where, tensor=name, shape=shape[:16])
    if 0 in shape:
        return 0
    if bits % 8:
        raise e.SafetensorsTypeError(where=where, detail=f"{bits} bits are no whole bytes")
    return bits // 8


def _check_coverage(tensors: list[TensorInfo], start: int, size: int, where: str) -> None:
    position = start
    for tensor in tensors:
        if tensor.begin < position:
            place = f"{where}:{tensor.name}"
            raise e.SafetensorsOverlapError(
                where=place, tensor=tensor.name, begin=tensor.begin - start, end=position - start
            )
        if tensor.begin > position:
            raise e.SafetensorsHoleError(
                where=where, begin=position - start, end=tensor.begin - start
            )
        position = tensor.end
    if position > size:
        detail = f"the tensors end at byte {position}, the file at {size}"
        raise e.SafetensorsTruncatedError(where=where, detail=detail)
    if position < size:
        raise e.SafetensorsTrailingError(where=where, count=size - position)
