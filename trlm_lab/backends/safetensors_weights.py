"""Weights of a model directory: its safetensors files, checked and mapped, one view a tensor."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from trlm_lab.base import strict_json
from trlm_lab.base.safetensors_header import map_tensor, read_header
from trlm_lab.errors import ModelFilesError, UnsupportedModelError
from trlm_lab.ops.arithmetic import Array
from trlm_lab.ops.matmul import RowBlocks

INDEX = "model.safetensors.index.json"
SINGLE = "model.safetensors"
WEIGHT_DTYPES = ("F32", "F16", "BF16", "F64")


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


def safetensors_tensors(path: Path) -> dict[str, RowBlocks]:
    """Every tensor of a safetensors file by name, as views into the mapped file.

    Raises:
        ModelFilesError: there is no such file.
        SafetensorsError, JsonError: the file is unsound.
        UnsupportedModelError: an element type that is no float.
    """
    if not path.is_file():
        raise ModelFilesError(where=str(path), detail="there is no such file")
    tensors: dict[str, RowBlocks] = {}
    for info in read_header(path):
        if info.dtype not in WEIGHT_DTYPES:
            detail = f"the tensor {info.name!r} has the element type {info.dtype}"
            raise UnsupportedModelError(where=str(path), detail=detail)
        values = map_tensor(path, info)
        tensors[info.name] = WidenedRows(values) if info.dtype == "BF16" else values
    return tensors


def _shards(path: Path) -> list[str]:
    """File names in a shard index, each once."""
    table: Any = strict_json.load_object(path).get("weight_map")
    names: list[Any] = list(table.values()) if isinstance(table, dict) else [None]
    for name in names:
        if not isinstance(name, str) or Path(name).name != name:
            detail = f"weight_map does not name files of this directory: {name!r}"
            raise ModelFilesError(where=str(path), detail=detail)
    return sorted(set(names))


def model_dir_tensors(root: Path) -> dict[str, RowBlocks]:
    """Every tensor of a model directory: `model.safetensors`, or the shards of its index.

    Raises:
        ModelFilesError: neither is there, the index names no files, or two shards hold one tensor.
        Refused: a file is unsound.
    """
    if not (root / INDEX).exists():
        return safetensors_tensors(root / SINGLE)
    tensors: dict[str, RowBlocks] = {}
    for shard in _shards(root / INDEX):
        for name, rows in safetensors_tensors(root / shard).items():
            if name in tensors:
                detail = f"the tensor {name!r} stands in two shards"
                raise ModelFilesError(where=str(root / shard), detail=detail)
            tensors[name] = rows
    return tensors
