"""A set as it lies there: every stored and every logical byte hashed, the file's structure judged.

Nothing is written but a sparse temporary file of what is no payload.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

from trlm_lab.errors import SlmsetError, SlmsetIdentityError
from trlm_lab.slm.merkle import SLM2_MERKLE
from trlm_lab.slmset.files import Progress, silent
from trlm_lab.slmset.reader import OpenSet, open_set
from trlm_lab.slmset.skeleton import Skeleton


def check_set(root: Path, progress: Progress = silent) -> list[dict[str, str]]:
    """Findings: what stops at the manifest or front matter alone, else one a piece and shard."""
    try:
        opened = open_set(root)
    except SlmsetError as error:
        return [error.as_finding()]
    found: list[dict[str, str]] = []
    shards = opened.check_shards()
    try:
        for _ in shards:
            pass
    except SlmsetError as error:
        found.append(error.as_finding())
    with Skeleton(opened.front, opened.manifest.file_len, opened.root.name) as skeleton:
        return [*found, *_pieces(opened, skeleton, progress)]


def _pieces(opened: OpenSet, skeleton: Skeleton, progress: Progress) -> list[dict[str, str]]:
    """Every piece; where all are sound, the file's hash, the Merkle root, and its structure."""
    found, leaves, rows = [], [], opened.manifest.pieces
    digest = hashlib.sha256(opened.front)
    for row in rows:
        progress("check", row.piece_index, len(rows))
        try:
            data = opened.piece(row)
        except SlmsetError as error:
            found.append(error.as_finding())
            continue
        digest.update(data)
        skeleton.add(data)
        leaves.append(SLM2_MERKLE.leaf(data))
    progress("check", len(rows), len(rows))
    if not found:
        for field, got, expected in (
            ("the whole file's hash", digest.digest(), opened.manifest.file_sha256),
            ("the Merkle root", SLM2_MERKLE.root(leaves), opened.manifest.merkle_root),
        ):
            if got != expected:
                other = SlmsetIdentityError(
                    where=str(opened.root), field=field, got=got.hex(), expected=expected.hex()
                )
                found.append(other.as_finding())
    broken = None if found else skeleton.fault()
    return found if broken is None else [broken.as_finding()]
