"""Stage 3: the Snapshot is packed into `.slm` artifacts, inspected by an independent reader."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from trlm_lab.base import canon
from trlm_lab.base.blobs import file_sha256
from trlm_lab.base.home import trlm_home
from trlm_lab.base.records import Artifact, Ledger
from trlm_lab.errors import ArtifactUnsoundError
from trlm_lab.flows.acquisition import Described, Source
from trlm_lab.flows.identity import package_sha256
from trlm_lab.flows.workspace import Workspace
from trlm_lab.inspector import inspect
from trlm_lab.pack import derive_model_dir, pack_snapshot, quant_profile

#: Quantization profiles that the main job packs.
PROFILES = ("f32", "q8_r128")


@dataclass(frozen=True)
class Packed:
    """An artifact with its ledger and the ids of its nodes."""

    artifact: Artifact
    ledger: Ledger
    nodes: dict[str, str] = field(default_factory=dict)

    @property
    def label(self) -> str:
        """The quantization profile, as file names and tables show it."""
        return self.artifact.quant_profile


def pack_artifact(ws: Workspace, source: Source, described: Described, quant: str) -> Packed:
    """Pack one artifact, or repack nothing where the cached bytes still verify.

    Raises:
        ArtifactUnsoundError: the independent inspector finds fault with the file.
    """
    key = canon.content_id([source.snapshot.snapshot_id, described.config.config_id, quant,
                            package_sha256()])  # fmt: skip
    path = trlm_home() / "artifacts" / key / "model.slm"
    ws.board.say(f"pack {quant}")
    tokenizer = source.root / "tokenizer.json"
    artifact, ledger = pack_snapshot(
        source.root,
        described.config,
        quant,
        path,
        tokenizer.read_bytes() if tokenizer.exists() else b"",
    )
    return Packed(artifact, ledger, _receipts(ws, source, described, artifact, ledger))


def _receipts(
    ws: Workspace, source: Source, described: Described, artifact: Artifact, ledger: Ledger
) -> dict[str, str]:
    store = ws.store
    profile = quant_profile(artifact.quant_profile)
    profile_node = store.add(
        "quant_profile",
        {"name": artifact.quant_profile, "profile_blob": store.put_value(profile)},
        [],
    )
    ledger_node = store.add(
        "ledger",
        {"ledger_id": ledger.ledger_id, "ledger_blob": store.put_value(ledger.to_map())},
        [source.nodes["source_tree"], described.nodes["effective_config"]],
    )
    identity = {
        "format": artifact.format,
        "file_sha256": artifact.file_sha256,
        "self_sha256": artifact.self_sha256,
        "merkle_root": artifact.merkle_root,
        "size": artifact.size,
    }
    artifact_node = store.add(
        "artifact", identity, [described.nodes["effective_config"], profile_node, ledger_node]
    )
    inspection = _inspect(artifact)
    inspection_node = store.add("inspection", inspection, [artifact_node])
    return {"artifact": artifact_node, "ledger": ledger_node, "inspection": inspection_node}


def _inspect(artifact: Artifact) -> dict[str, Any]:
    found = inspect(artifact.path)
    if found.findings:
        first = found.findings[0]
        raise ArtifactUnsoundError(where=str(artifact.path), first=f"{first}")
    if file_sha256(artifact.path) != artifact.file_sha256:
        raise ArtifactUnsoundError(where=str(artifact.path), first="the file changed since packing")
    return {"file_sha256": artifact.file_sha256, "findings": 0}


def oracle_model_dir(ws: Workspace, source: Source, packed: Packed) -> Path:
    """The model directory that the oracle runs for this artifact.

    For f32 it is the snapshot itself. For a quantized artifact it is a derived directory with the
    dequantized weights, so that the oracle and the engines compute the same function and the
    frozen limit judges the engine, not the quantizer.
    """
    if packed.label == "f32":
        return source.root
    target = trlm_home() / "derived" / packed.artifact.file_sha256
    ws.board.say(f"derive the oracle's weights from the {packed.label} artifact")
    return derive_model_dir(source.root, packed.artifact.path, target)
