"""The weight files of a model directory and their index, as one set of tensors.

The rules are used by the conversion, which stops at the first broken one, and by the check, which
lists all of them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from trlm_lab.acquire.directory_tree import ModelTree
from trlm_lab.acquire.safetensors_check import require_safetensors
from trlm_lab.acquire.tree_names import INDEX
from trlm_lab.base import strict_json
from trlm_lab.base.safetensors_header import StoredTensor, TensorInfo, read_header
from trlm_lab.errors import SafetensorsDtypeError, ShardError, TrlmError

#: Widened to float32 without rounding.
WIDENED = {"F32", "F16", "BF16"}
_NUMBERED = re.compile(r"model-([0-9]{5})-of-([0-9]{5})\.safetensors\Z")

#: The longest in use, of 91,991 tensors in 163 files, has 9 MB.
MAX_INDEX_BYTES = 16 << 20

Headers = Mapping[str, tuple[TensorInfo, ...]]


def stored_tensors(tree: ModelTree, *, finite: bool = True) -> dict[str, StoredTensor]:
    """Every tensor of the weight files by name; with `finite`, every value is looked at.

    Raises:
        SafetensorsError, JsonError, NonFiniteError: a weight file is broken.
        SafetensorsDtypeError, ShardError: as `shard_problems`.
    """
    read = require_safetensors if finite else read_header
    headers = {file: read(tree.root / file) for file in tree.weights}
    for problem in shard_problems(tree, headers):
        raise problem
    return placed(tree.root, headers)


def placed(root: Path, headers: Headers) -> dict[str, StoredTensor]:
    """The tensors of all files by name."""
    return {t.name: StoredTensor(root / file, t) for file in headers for t in headers[file]}


def shard_problems(tree: ModelTree, headers: Headers) -> list[TrlmError]:
    """What contradicts itself in the weight files, given the headers of those that are sound."""
    problems = [
        SafetensorsDtypeError(where=file, tensor=t.name, dtype=t.dtype)
        for file, tensors in headers.items()
        for t in tensors
        if t.dtype not in WIDENED
    ]
    shards: list[TrlmError] = [*_repeated(headers), *_numbers(tree)]
    if tree.has_index:
        shards += _index(tree, headers)
    elif len(tree.weights) > 1 or any(map(_NUMBERED.match, tree.weights)):
        detail = f"{len(tree.weights)} weight files without {INDEX}"
        shards.append(ShardError(where=tree.root.name, detail=detail))
    return [*problems, *shards]


def _repeated(headers: Headers) -> list[ShardError]:
    seen: dict[str, str] = {}
    problems = []
    for file, tensors in headers.items():
        for tensor in tensors:
            if tensor.name in seen:
                detail = f"tensor {tensor.name!r} lies in {seen[tensor.name]} too"
                problems.append(ShardError(where=file, detail=detail))
            seen.setdefault(tensor.name, file)
    return problems


def _numbers(tree: ModelTree) -> list[ShardError]:
    """Shards are numbered 1 to N, all of the same N, and no other weight file stands beside."""
    parts = [match.groups() for match in map(_NUMBERED.match, tree.weights) if match]
    if not parts:
        return []
    totals = sorted({total for _, total in parts})
    missing = sorted(set(range(1, int(totals[0]) + 1)) - {int(n) for n, _ in parts})
    detail = ""
    if len(totals) > 1:
        detail = f"the shards are numbered of {', '.join(str(int(t)) for t in totals)}"
    elif len(parts) != len(tree.weights):
        detail = "model.safetensors stands beside numbered shards"
    elif missing:
        detail = f"shard {missing[0]} of {int(totals[0])} is missing"
    elif len(parts) != int(totals[0]):
        detail = f"{len(parts)} shards are numbered of {int(totals[0])}"
    return [ShardError(where=tree.root.name, detail=detail)] if detail else []


def _index(tree: ModelTree, headers: Headers) -> list[TrlmError]:
    try:
        index = strict_json.load_object(tree.root / INDEX, where=INDEX, limit=MAX_INDEX_BYTES)
    except TrlmError as error:
        return [error]
    declared = index.get("weight_map")
    if not isinstance(declared, dict):
        return [ShardError(where=f"{INDEX}#/weight_map", detail="weight_map is no object")]
    details = _map_details(tree, headers, declared)
    total = index.get("metadata")
    size = total.get("total_size") if isinstance(total, dict) else None
    stored = sum(t.end - t.begin for tensors in headers.values() for t in tensors)
    if size is not None and size != stored and len(headers) == len(tree.weights):
        details.append(f"total_size is {str(size)[:40]}, the shards hold {stored} bytes")
    return [ShardError(where=INDEX, detail=detail) for detail in details]


def _map_details(tree: ModelTree, headers: Headers, declared: dict[str, Any]) -> list[str]:
    named = {file for file in declared.values() if isinstance(file, str)}
    details = [f"the shard {f[:80]!r} is not there" for f in sorted(named - set(tree.weights))]
    holders = {t.name: file for file, tensors in headers.items() for t in tensors}
    readable = named & set(headers)
    for name, file in declared.items():
        if not isinstance(file, str):
            details.append(f"tensor {name[:80]!r} is in {str(file)[:40]}, no file name")
        elif file in readable and holders.get(name) != file:
            details.append(f"tensor {name[:80]!r} is not in {file!r}")
    extra = sorted(set(holders) - set(declared))
    details += [f"tensor {name[:80]!r} is not declared" for name in extra[:1]]
    return details + [f"no tensor is declared in {f!r}" for f in sorted(set(tree.weights) - named)]
