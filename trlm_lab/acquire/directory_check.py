"""What `trlm check` says of the files of a model directory: the same rules that acquiring uses."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from trlm_lab.acquire.directory_tree import ModelTree, judged_tree
from trlm_lab.acquire.safetensors_check import require_safetensors
from trlm_lab.acquire.shards import WIDENED, placed, shard_problems
from trlm_lab.acquire.snapshot_store import MANIFEST, PROVENANCE, verify_snapshot
from trlm_lab.base.safetensors_header import StoredTensor, TensorInfo
from trlm_lab.errors import TreeError, TrlmError

_OWN = {MANIFEST, PROVENANCE}


@dataclass(frozen=True)
class DirectoryCheck:
    """Findings, and what the next rules need: the tensors (None where there are no weights).

    `sound`: every weight file could be read, so that the tensors are all there are.
    """

    findings: tuple[dict[str, str], ...]
    tensors: Mapping[str, StoredTensor] | None
    sound: bool
    dtypes: frozenset[str]


def check_directory(root: Path) -> DirectoryCheck:
    """Judge tree, containers, values, shards and, of a snapshot, every hash.

    Each finding has `code`, `where`, `detail`, `fix` and `level`. A missing file is none here.
    """
    tree, problems = judged_tree(root)
    broken: list[TrlmError] = [*problems]
    is_snapshot = (root / MANIFEST).exists()
    if is_snapshot:
        broken += _seal_problems(root)
    headers: dict[str, tuple[TensorInfo, ...]] = {}
    for file in tree.weights:
        try:
            headers[file] = require_safetensors(root / file)
        except TrlmError as error:
            broken.append(error)
    sound = len(headers) == len(tree.weights)
    broken += shard_problems(tree, headers)
    findings = [{**error.as_finding(), "level": "error"} for error in broken]
    findings += _passed_over(tree)
    tensors = placed(root, headers) if headers else None
    dtypes = frozenset({"F32"} if is_snapshot else WIDENED)
    return DirectoryCheck(tuple(findings), tensors, sound, dtypes)


def _seal_problems(root: Path) -> list[TrlmError]:
    try:
        verify_snapshot(root)
    except TrlmError as error:
        return [error]
    return []


def _passed_over(tree: ModelTree) -> list[dict[str, str]]:
    names = [name for name in tree.ignored if name not in _OWN]
    if not names:
        return []
    more = f" and {len(names) - 5} more" if len(names) > 5 else ""
    finding = TreeError(where=tree.root.name, detail=f"not taken: {', '.join(names[:5])}{more}")
    fix = "nothing; these files change no model, and no snapshot holds them"
    return [{**finding.as_finding(), "code": "NOT_TAKEN", "fix": fix, "level": "note"}]
