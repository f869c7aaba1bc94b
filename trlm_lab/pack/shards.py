"""The weight files of a snapshot or model directory: one, or numbered shards, as one set."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from trlm_lab.base.safetensors_header import StoredTensor, read_header
from trlm_lab.errors import PackDuplicateError, PackShardError, PackSourceError

WEIGHTS = "model.safetensors"
_NUMBERED = re.compile(r"model-([0-9]{5})-of-([0-9]{5})\.safetensors\Z")


def stored_tensors(root: Path) -> Mapping[str, StoredTensor]:
    """Every tensor of `model.safetensors`, or of all numbered shards, by name.

    Raises:
        PackSourceError: no weight file.
        PackShardError: a shard is missing, or shards stand beside a single file.
        PackDuplicateError: two shards hold one tensor.
        SafetensorsError, JsonError: a container is malformed.
    """
    found: dict[str, StoredTensor] = {}
    for path in _weight_files(root):
        for info in read_header(path):
            if info.name in found:
                other = found[info.name].path.name
                raise PackDuplicateError(where=path.name, tensor=info.name, other=other)
            found[info.name] = StoredTensor(path, info)
    return found


def _weight_files(root: Path) -> list[Path]:
    single = root / WEIGHTS
    shards = {p: m for p in sorted(root.glob("*.safetensors")) if (m := _NUMBERED.match(p.name))}
    if single.is_file() and shards:
        raise PackShardError(where=str(root), detail=f"{WEIGHTS} stands beside numbered shards")
    if not shards:
        if not single.is_file():
            raise PackSourceError(where=str(root), detail=f"there is no {WEIGHTS}")
        return [single]
    numbers, totals = [int(m[1]) for m in shards.values()], {int(m[2]) for m in shards.values()}
    total = max(totals)
    if len(totals) > 1 or numbers != list(range(1, total + 1)):
        detail = f"the shards {numbers[:8]} are not those from 1 to {total}"
        raise PackShardError(where=str(root), detail=detail)
    return list(shards)
