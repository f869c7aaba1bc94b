"""A local model directory as a snapshot: documents copied, weights checked, widened to float32."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from trlm_lab.acquire.approval import Approve, approve_all
from trlm_lab.acquire.directory_tree import ModelTree
from trlm_lab.acquire.gguf_snapshot import quantized_grid
from trlm_lab.acquire.progress import Progress, silent
from trlm_lab.acquire.safetensors_writer import (
    CHUNK_ELEMENTS,
    F32,
    PlannedTensor,
    write_safetensors,
)
from trlm_lab.acquire.shards import stored_tensors
from trlm_lab.base import strict_json
from trlm_lab.base.records import SourceFile
from trlm_lab.base.safetensors_header import StoredTensor, read_elements

DIRECTORY_VERSION = 3


@dataclass(frozen=True)
class _Values:
    """Yields the float32 values of a tensor in one of the weight files."""

    stored: StoredTensor

    def __call__(self) -> Iterator[F32]:
        path, info = self.stored.path, self.stored.info
        for first in range(0, info.elements, CHUNK_ELEMENTS):
            part = read_elements(path, info, first, min(CHUNK_ELEMENTS, info.elements - first))
            if info.dtype == "BF16":
                # A bfloat16 is the upper half of a float32.
                yield (part.astype(np.uint32) << np.uint32(16)).view(np.float32)
            else:
                yield part.astype(np.float32)


def convert_directory(
    tree: ModelTree,
    materials: list[SourceFile],
    out: Path,
    progress: Progress = silent,
    approve: Approve = approve_all,
    ignored: Sequence[SourceFile] = (),
) -> dict[str, Any]:
    """Write the snapshot of a model directory into `out` and return its provenance.

    `materials` are the files that were received, `ignored` those that are listed and not taken.
    Who decided on the licence is the caller's to add.

    Raises:
        SafetensorsError, NonFiniteError: a weight file is broken or holds NaN or infinity.
        SafetensorsDtypeError: a weight is no float32, float16 or bfloat16.
        ShardError: shards and index contradict each other.
        JsonError, JsonDuplicateKeyError: a JSON document is not strict JSON.
    """
    approve(tree.root, stored_tensors(tree, finite=False))
    stored = stored_tensors(tree)
    for name in tree.taken:
        if name.endswith(".json"):
            strict_json.load_object(tree.root / name, where=name)
        (out / name).parent.mkdir(exist_ok=True)
        shutil.copyfile(tree.root / name, out / name)
    planned = {name: PlannedTensor(s.info.shape, _Values(s)) for name, s in stored.items()}
    digests = write_safetensors(out / "model.safetensors", planned, progress)
    return {
        "schema": "trlm.provenance.v1",
        "converter": {"name": "trlm_lab.acquire.directory", "version": DIRECTORY_VERSION},
        "materials": list(map(_file_row, materials)),
        "ignored": list(map(_file_row, ignored)),
        "allow_list": tree.allowed.to_map(tree.taken),
        "tensors": [_tensor_row(name, stored[name], digests[name]) for name in sorted(stored)],
        **quantized_grid([]),
    }


def _file_row(file: SourceFile) -> dict[str, Any]:
    return {"name": file.path, "size": file.size, "sha256": file.sha256}


def _tensor_row(name: str, stored: StoredTensor, digest: str) -> dict[str, Any]:
    tensor = stored.info
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
