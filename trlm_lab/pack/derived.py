"""A model directory with the weights of an artifact: what a source framework runs to be compared.

Everything but the weights is the snapshot's; the weights are the artifact's, dequantized; a
provenance file binds both by SHA-256.
"""

from __future__ import annotations

import json
import shutil
import tempfile
from pathlib import Path
from typing import Any

from trlm_lab.base.blobs import file_sha256
from trlm_lab.pack.progress import Progress, silent
from trlm_lab.pack.shards import WEIGHTS
from trlm_lab.pack.unpack import unpack

PROVENANCE = "derived.json"
SCHEMA = "trlm.derived_model.v1"


def derive_model_dir(
    snapshot_root: Path, artifact: Path, target: Path, *, progress: Progress = silent
) -> Path:
    """Make (or find intact) the derived directory and return it.

    An existing directory is reused only if its provenance names these inputs and every file in it
    still has the hash written there; otherwise it is made again, whole, and takes its place.

    Raises:
        SlmError: the artifact is malformed or damaged.
    """
    copies = _copied_files(snapshot_root)
    inputs = {
        "schema": SCHEMA,
        "artifact_sha256": file_sha256(artifact),
        "copied": {p.name: file_sha256(p) for p in copies},
    }
    if _is_intact(target, inputs):
        return target
    target.parent.mkdir(parents=True, exist_ok=True)
    fresh = Path(tempfile.mkdtemp(prefix=".tmp-", dir=target.parent))
    try:
        for path in copies:
            shutil.copyfile(path, fresh / path.name)
        weights = unpack(artifact, fresh / WEIGHTS, progress=progress)
        text = json.dumps(inputs | {"weights_sha256": weights}, indent=1, sort_keys=True)
        (fresh / PROVENANCE).write_text(text + "\n", "utf-8")
        shutil.rmtree(target, ignore_errors=True)
        fresh.replace(target)
    finally:
        shutil.rmtree(fresh, ignore_errors=True)
    return target


def _copied_files(root: Path) -> list[Path]:
    """Configuration, tokenizer, template and licence: every plain file that holds no weights."""
    skipped = {".safetensors", ".cbor"}
    paths = sorted(p for p in root.iterdir() if p.is_file() and not p.name.startswith("."))
    return [
        p
        for p in paths
        if p.suffix not in skipped and p.name not in ("provenance.json", PROVENANCE)
    ]


def _is_intact(target: Path, inputs: dict[str, Any]) -> bool:
    try:
        row = json.loads((target / PROVENANCE).read_text("utf-8"))
        recorded = {**inputs["copied"], WEIGHTS: row.pop("weights_sha256")}
    except (OSError, ValueError, KeyError, AttributeError, TypeError):
        return False
    if row != inputs:
        return False
    present = {p.name for p in target.iterdir()} == {*recorded, PROVENANCE}
    return present and all(file_sha256(target / n) == h for n, h in recorded.items())
