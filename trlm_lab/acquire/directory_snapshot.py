"""A local model directory as a snapshot: documents copied, weights checked, widened to float32."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from trlm_lab.acquire.directory_tree import INDEX, ModelTree
from trlm_lab.acquire.gguf_snapshot import material_row, quantized_grid
from trlm_lab.acquire.progress import Progress, silent
from trlm_lab.acquire.safetensors_check import require_safetensors
from trlm_lab.acquire.safetensors_writer import (
    CHUNK_ELEMENTS,
    F32,
    PlannedTensor,
    write_safetensors,
)
from trlm_lab.base import strict_json
from trlm_lab.base.records import SourceFile
from trlm_lab.base.safetensors_header import TensorInfo, map_tensor
from trlm_lab.errors import SafetensorsDtypeError, ShardError

DIRECTORY_VERSION = 1

_WIDENED = {"F32", "F16", "BF16"}


@dataclass(frozen=True)
class _Stored:
    """A tensor in one of the weight files; calling it yields its float32 values."""

    path: Path
    tensor: TensorInfo

    def __call__(self) -> Iterator[F32]:
        flat = map_tensor(self.path, self.tensor).reshape(-1)
        for first in range(0, flat.size, CHUNK_ELEMENTS):
            part = flat[first : first + CHUNK_ELEMENTS]
            if self.tensor.dtype == "BF16":
                # A bfloat16 is the upper half of a float32.
                yield (part.astype(np.uint32) << np.uint32(16)).view(np.float32)
            else:
                yield part.astype(np.float32)


def convert_directory(
    tree: ModelTree, materials: list[SourceFile], out: Path, progress: Progress = silent
) -> dict[str, Any]:
    """Write the snapshot of a model directory into `out` and return its provenance.

    Raises:
        SafetensorsError, NonFiniteError: a weight file is broken or holds NaN or infinity.
        SafetensorsDtypeError: a weight is no float32, float16 or bfloat16.
        ShardError: shards and index contradict each other.
        JsonError, JsonDuplicateKeyError: a JSON document is not strict JSON.
    """
    stored = _stored_tensors(tree)
    for name in tree.taken:
        if name.endswith(".json"):
            strict_json.load_object(tree.root / name, where=name)
        shutil.copyfile(tree.root / name, out / name)
    planned = {name: PlannedTensor(s.tensor.shape, s) for name, s in stored.items()}
    digests = write_safetensors(out / "model.safetensors", planned, progress)
    return {
        "schema": "trlm.provenance.v1",
        "converter": {"name": "trlm_lab.acquire.directory", "version": DIRECTORY_VERSION},
        "materials": [material_row(m) for m in materials],
        "ignored": list(tree.ignored),
        "tensors": [_tensor_row(name, stored[name], digests[name]) for name in sorted(stored)],
        "licence": {"spdx": "unknown", "decision": "undecided: local use only"},
        **quantized_grid([]),
    }


def _stored_tensors(tree: ModelTree) -> dict[str, _Stored]:
    found: dict[str, _Stored] = {}
    for file in tree.weights:
        for tensor in require_safetensors(tree.root / file):
            if tensor.name in found:
                other = found[tensor.name].path.name
                detail = f"tensor {tensor.name!r} lies in {other} too"
                raise ShardError(where=file, detail=detail)
            if tensor.dtype not in _WIDENED:
                raise SafetensorsDtypeError(where=file, tensor=tensor.name, dtype=tensor.dtype)
            found[tensor.name] = _Stored(tree.root / file, tensor)
    if tree.has_index:
        _require_index(tree, found)
    elif len(tree.weights) > 1:
        detail = f"{len(tree.weights)} weight files without {INDEX}"
        raise ShardError(where=str(tree.root), detail=detail)
    return found


def _require_index(tree: ModelTree, found: dict[str, _Stored]) -> None:
    declared = strict_json.load_object(tree.root / INDEX, where=INDEX).get("weight_map")
    if not isinstance(declared, dict):
        raise ShardError(where=INDEX, detail="weight_map is no object")
    for name, file in declared.items():
        if name not in found or found[name].path.name != file:
            detail = f"tensor {name!r} is not in {file!r}"
            raise ShardError(where=INDEX, detail=detail)
    extra = sorted(set(found) - set(declared))
    if extra:
        raise ShardError(where=INDEX, detail=f"tensor {extra[0]!r} is not declared")


def _tensor_row(name: str, stored: _Stored, digest: str) -> dict[str, Any]:
    tensor = stored.tensor
    widened = tensor.dtype != "F32"
    return {
        "name": name,
        "sha256": digest,
        "shape": list(tensor.shape),
        "source_name": name,
        "source_file": stored.path.name,
        "source_type": tensor.dtype,
        "source_range": [tensor.begin, tensor.end],
        "transforms": [["widen", {"from": tensor.dtype, "to": "F32"}]] if widened else [],
    }
