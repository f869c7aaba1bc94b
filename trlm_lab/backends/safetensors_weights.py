"""Weights of a model directory: its safetensors file, mapped, one view a tensor.

The header is checked as far as reading needs it (length, JSON, types, ranges); whether the file is
sound in every respect is the business of the stage that acquired it.
"""

from __future__ import annotations

import json
import mmap
from pathlib import Path
from typing import Any

import numpy as np

from trlm_lab.errors import ModelFilesError, UnsupportedModelError
from trlm_lab.ops.arithmetic import Array
from trlm_lab.ops.matmul import RowBlocks

NUMPY_DTYPES = {"F32": "<f4", "F16": "<f2", "F64": "<f8"}


class WidenedRows:
    """A bfloat16 tensor whose rows are widened to float32 when asked for."""

    def __init__(self, words: Array) -> None:
        self.words = words

    @property
    def shape(self) -> tuple[int, ...]:
        """The tensor's dimensions."""
        return self.words.shape

    def __getitem__(self, rows: slice) -> Array:
        """The rows of a slice as float32."""
        return (self.words[rows].astype(np.uint32) << np.uint32(16)).view(np.float32)


def _header(view: memoryview, where: str) -> tuple[dict[str, Any], int]:
    """The parsed header and the offset of the first payload byte."""
    length = int.from_bytes(view[:8], "little")
    if len(view) < 8 or length > len(view) - 8:
        raise ModelFilesError(where=where, detail=f"a header of {length} bytes does not fit")
    try:
        header = json.loads(bytes(view[8 : 8 + length]))
    except (ValueError, RecursionError) as error:
        raise ModelFilesError(where=where, detail=f"the header is no JSON: {error}") from error
    if not isinstance(header, dict):
        raise ModelFilesError(where=where, detail="the header is no JSON object")
    header.pop("__metadata__", None)
    return header, 8 + length


def _count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _tensor(name: str, row: Any, payload: memoryview, where: str) -> RowBlocks:
    row = row if isinstance(row, dict) else {}
    dtype, shape, span = row.get("dtype"), row.get("shape"), row.get("data_offsets")
    lists = isinstance(shape, list) and isinstance(span, list) and len(span) == 2
    if not lists or not all(map(_count, [*shape, *span])) or span[1] > len(payload):
        raise ModelFilesError(where=where, detail=f"the header's row of {name!r} is ill-formed")
    if dtype != "BF16" and dtype not in NUMPY_DTYPES:
        detail = f"the tensor {name!r} has the element type {dtype!r}"
        raise UnsupportedModelError(where=where, detail=detail)
    element = np.dtype("<u2" if dtype == "BF16" else NUMPY_DTYPES[dtype])
    count = int(np.prod(shape, dtype=object)) if shape else 1
    if span[1] - span[0] != count * element.itemsize:
        detail = f"the tensor {name!r} of shape {shape} has {span[1] - span[0]} bytes"
        raise ModelFilesError(where=where, detail=detail)
    values = np.frombuffer(payload[span[0] : span[1]], dtype=element).reshape(shape)
    return WidenedRows(values) if dtype == "BF16" else values


def mapped(path: Path) -> memoryview:
    """The file's bytes, mapped; they stay mapped as long as something looks at them.

    Raises:
        ModelFilesError: the file is missing or empty.
    """
    try:
        with path.open("rb") as stream:
            return memoryview(mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ))
    except (OSError, ValueError) as error:
        raise ModelFilesError(where=str(path), detail=f"cannot be read: {error}") from error


def safetensors_tensors(path: Path) -> dict[str, RowBlocks]:
    """Every tensor of a safetensors file by name, as views into the mapped file.

    Raises:
        ModelFilesError: the file cannot be read or its header is ill-formed.
        UnsupportedModelError: an element type that the forward pass does not take.
    """
    view = mapped(path)
    header, start = _header(view, str(path))
    return {name: _tensor(name, row, view[start:], str(path)) for name, row in header.items()}


def model_dir_tensors(root: Path) -> dict[str, RowBlocks]:
    """Every tensor of a model directory: `model.safetensors`, or the shards of its index.

    Raises:
        ModelFilesError: neither is there, or the index is ill-formed.
    """
    index = root / "model.safetensors.index.json"
    if not index.exists():
        return safetensors_tensors(root / "model.safetensors")
    try:
        shards = sorted(set(json.loads(index.read_text(encoding="utf-8"))["weight_map"].values()))
        inside = all(Path(name).name == name for name in shards)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ModelFilesError(where=str(index), detail=f"is ill-formed: {error}") from error
    if not inside:
        raise ModelFilesError(where=str(index), detail="names a file outside the directory")
    tensors: dict[str, RowBlocks] = {}
    for shard in shards:
        tensors |= safetensors_tensors(root / shard)
    return tensors
