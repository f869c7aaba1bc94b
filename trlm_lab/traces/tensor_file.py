"""Read and write the safetensors files of a process adapter, trusting nothing in them.

Layout: u64 little-endian header length, a JSON object of name -> {dtype, shape, data_offsets}
(and perhaps `__metadata__`), then the data; ranges must tile the data without holes. Only F32
and I64 are admitted, since traces hold nothing else. Source: the format description in the
safetensors README.
"""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trlm_lab.base.records import Observation
from trlm_lab.errors import ProcessOutputError

MAX_HEADER = 64 * 1024 * 1024
MAX_RANK = 8
DTYPES: dict[str, np.dtype[Any]] = {"F32": np.dtype("<f4"), "I64": np.dtype("<i8")}
CODES = {"float32": "F32", "int64": "I64"}


@dataclass(frozen=True)
class Entry:
    """One tensor: dtype code, shape, and its byte range inside the file."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    start: int
    stop: int


def read_entries(path: Path) -> dict[str, Entry]:
    """The directory of a file, checked against its size.

    Raises:
        ProcessOutputError: the file is malformed; `where` names the file and the tensor.
    """
    size = path.stat().st_size
    with path.open("rb") as stream:
        prefix = stream.read(8)
        length = struct.unpack("<Q", prefix)[0] if len(prefix) == 8 else size
        if length > min(size - 8, MAX_HEADER):
            raise ProcessOutputError(where=str(path), detail="the header is cut short")
        header = _parse(stream.read(length), str(path))
    rows = [_entry(name, row, 8 + length, path) for name, row in header.items()]
    _require_tiling(rows, 8 + length, size, str(path))
    return {row.name: row for row in rows}


def _parse(data: bytes, where: str) -> dict[str, Any]:
    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        if len({key for key, _ in pairs}) != len(pairs):
            raise ValueError("a key occurs twice")
        return dict(pairs)

    try:
        header = json.loads(data, object_pairs_hook=unique)
    except (ValueError, RecursionError) as error:
        raise ProcessOutputError(where=where, detail=f"the header is no JSON: {error}") from error
    if not isinstance(header, dict):
        raise ProcessOutputError(where=where, detail="the header is no JSON object")
    header.pop("__metadata__", None)
    return header


def _entry(name: str, row: Any, base: int, path: Path) -> Entry:
    where = f"{path}, tensor {name!r}"
    if not isinstance(row, dict) or set(row) != {"dtype", "shape", "data_offsets"}:
        raise ProcessOutputError(where=where, detail="it needs dtype, shape and data_offsets")
    dtype, shape, offsets = row["dtype"], row["shape"], row["data_offsets"]
    if not isinstance(dtype, str) or dtype not in DTYPES:
        raise ProcessOutputError(where=where, detail=f"dtype {dtype!r} is neither F32 nor I64")
    if not _sizes(shape) or len(shape) > MAX_RANK:
        raise ProcessOutputError(where=where, detail=f"{shape!r} is no shape")
    if not _sizes(offsets) or len(offsets) != 2:
        raise ProcessOutputError(where=where, detail=f"{offsets!r} is no byte range")
    expected = math.prod(shape) * DTYPES[dtype].itemsize
    if offsets[1] - offsets[0] != expected:
        detail = f"{offsets[1] - offsets[0]} bytes, dtype and shape need {expected}"
        raise ProcessOutputError(where=where, detail=detail)
    return Entry(name, dtype, tuple(shape), base + offsets[0], base + offsets[1])


def _sizes(value: Any) -> bool:
    good = isinstance(value, list)
    return good and all(type(v) is int and 0 <= v < 2**53 for v in value)


def _require_tiling(rows: list[Entry], base: int, size: int, where: str) -> None:
    position = base
    for row in sorted(rows, key=lambda row: (row.start, row.stop)):
        if row.start != position:
            detail = f"{row.name!r} starts at {row.start}, the data before it ends at {position}"
            raise ProcessOutputError(where=where, detail=detail)
        position = row.stop
    if position != size:
        raise ProcessOutputError(where=where, detail=f"{size} bytes, the tensors end at {position}")


def read_entry(path: Path, entry: Entry) -> NDArray[Any]:
    """One tensor, owned by the caller, in native byte order. Raises ProcessOutputError."""
    little = DTYPES[entry.dtype]
    with path.open("rb") as stream:
        stream.seek(entry.start)
        data = bytearray(stream.read(entry.stop - entry.start))
    if len(data) != entry.stop - entry.start:
        raise ProcessOutputError(where=f"{path}, tensor {entry.name!r}", detail="the data is short")
    values = np.frombuffer(data, dtype=little).reshape(entry.shape)
    return values.astype(little.newbyteorder("="), copy=False)


def write_tensors(path: Path, observations: Iterable[Observation]) -> None:
    """Write observations to one file, through a temporary name; holds them all in memory."""
    held = list(observations)
    header: dict[str, Any] = {}
    position = 0
    for observation in held:
        values = observation.values
        span = [position, position + values.nbytes]
        row = {"dtype": CODES[values.dtype.name], "shape": list(values.shape)}
        header[observation.name] = {**row, "data_offsets": span}
        position = span[1]
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    temporary = path.with_name(f".tmp-{path.name}")
    with temporary.open("wb") as stream:
        stream.write(struct.pack("<Q", len(text)) + text)
        for observation in held:
            dtype = observation.values.dtype.newbyteorder("<")
            stream.write(np.ascontiguousarray(observation.values, dtype=dtype).data)
    temporary.replace(path)
