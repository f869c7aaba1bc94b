"""Stage 3: the Snapshot is packed into `.slm` artifacts, inspected by an independent reader."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from trlm_lab.backends.native_rows import native_packer
from trlm_lab.base import canon
from trlm_lab.base.blobs import write_atomically
from trlm_lab.base.home import trlm_home
from trlm_lab.base.records import Artifact, EffectiveConfig, Ledger
from trlm_lab.errors import ArtifactUnsoundError, TrlmError
from trlm_lab.flows.acquisition import Described, Source
from trlm_lab.flows.identity import packer_sha256
from trlm_lab.flows.ledger_check import check_ranges
from trlm_lab.flows.model_templates import chosen_place, chosen_template
from trlm_lab.flows.tokenizer_section import tokenizer_section
from trlm_lab.flows.workspace import Workspace
from trlm_lab.inspector import inspect
from trlm_lab.inspector.inspect import Progress, silent
from trlm_lab.pack import derive_model_dir, pack_snapshot, quant_profile
from trlm_lab.pack.codes import Codes
from trlm_lab.pack.ledger_rules import rule_findings
from trlm_lab.pack.profiles import by_reference
from trlm_lab.pack.shards import stored_tensors


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


def pack_artifact(
    ws: Workspace, source: Source, described: Described, quant: str, codes: Codes | None = None
) -> Packed:
    """Pack one artifact, or reuse the cached file where its bytes still verify.

    Of a calibrated profile `codes` are its codes (`flows.calibrated`); their id is part of the
    artifact's identity.

    Raises:
        CalibrationNeededError, CodesMismatchError: as `pack_snapshot`.
        ArtifactUnsoundError: the independent inspector finds fault with the file.
    """
    key = canon.content_id(
        [
            source.snapshot.snapshot_id,
            described.config.config_id,
            chosen_place(described.receipt),
            quant,
            packer_sha256(),
            *([codes.codes_id] if codes else []),
        ]
    )
    folder = trlm_home() / "artifacts" / key
    found = _recall(ws, folder, source.root)
    if found is None:
        found = _pack(ws, source, described, quant, folder, codes)
    elif not ws.trusted:
        ws.board.say(f"pack {quant}: the cached artifact still verifies")
        ws.reused.append(f"pack-{quant}")
    return Packed(found.artifact, found.ledger, _receipts(ws, source, described, found, codes))


@dataclass(frozen=True)
class Checked:
    """An artifact whose file, ledger and inspection were just looked at."""

    artifact: Artifact
    ledger: Ledger
    inspection: dict[str, Any]


def _pack(
    ws: Workspace,
    source: Source,
    described: Described,
    quant: str,
    folder: Path,
    codes: Codes | None,
) -> Checked:
    template = chosen_template(source.root, described.receipt)
    artifact, ledger = pack_snapshot(
        source.root,
        described.config,
        quant,
        folder / "model.slm",
        tokenizer_section(source.root, described.config, template, ws.board.say),
        codes=codes,
        packer=native_packer() or by_reference,
        progress=ws.board.report,
    )
    inspection = check_artifact(artifact, ledger, source.root, ws.board.report)
    row = {**vars(artifact), "path": "model.slm", "config": described.config.to_map()}
    record = {"artifact": row, "ledger": ledger.to_map(), "inspection": inspection}
    write_atomically(folder / "record.cbor", canon.encode(record))
    return Checked(artifact, ledger, inspection)


def _recall(ws: Workspace, folder: Path, root: Path) -> Checked | None:
    """The cached artifact with its ledger, or None where anything about it does not verify."""
    try:
        row = canon.decode((folder / "record.cbor").read_bytes())
        config = EffectiveConfig.from_map(row["artifact"]["config"])
        artifact = Artifact(**{**row["artifact"], "path": folder / "model.slm", "config": config})
        ledger, inspection = Ledger.from_map(row["ledger"]), row["inspection"]
        if ws.trusted:
            return Checked(artifact, ledger, inspection)
        if check_artifact(artifact, ledger, root, ws.board.report) != inspection:
            return None
        return Checked(artifact, ledger, inspection)
    except (OSError, KeyError, TypeError, TrlmError):
        return None


def _receipts(
    ws: Workspace, source: Source, described: Described, found: Checked, codes: Codes | None
) -> dict[str, str]:
    store, artifact, ledger = ws.store, found.artifact, found.ledger
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
    rests_on = [described.nodes["effective_config"], profile_node, ledger_node]
    if codes is not None:
        facts = {"calibration_id": codes.calibration_id, "codes_id": codes.codes_id}
        lineage = {"lineage_blob": store.put_value(dict(codes.record["lineage"]))}
        data = store.add("calibration_data", {**facts, **lineage}, [source.nodes["source_tree"]])
        rests_on.append(data)
    artifact_node = store.add("artifact", identity, rests_on)
    inspection_node = store.add("inspection", found.inspection, [artifact_node])
    return {"artifact": artifact_node, "ledger": ledger_node, "inspection": inspection_node}


def check_artifact(
    artifact: Artifact, ledger: Ledger, root: Path, progress: Progress = silent
) -> dict[str, Any]:
    """Inspect the file, hold the ledger to its rules, and recompute both hashes of every entry.

    Raises:
        ArtifactUnsoundError: inspector or ledger find fault, or the file is another one.
    """
    found = inspect(artifact.path, progress)
    wrong = [str(f) for f in found.findings]
    names = [tensor.name for tensor in found.tensors]
    rules = rule_findings(ledger, stored_tensors(root), names)
    wrong += [f"{f.code} {f.where}: {f.detail}" for f in rules]
    wrong += [
        f"{f['code']} {f['where']}" for f in check_ranges(ledger, root, artifact.path, progress)
    ]
    if found.file_sha256 != artifact.file_sha256:
        wrong.append("another file hash than recorded")
    if wrong:
        raise ArtifactUnsoundError(where=str(artifact.path), first=wrong[0])
    return {
        "file_sha256": found.file_sha256,
        "inspection_id": found.inspection_id,
        "findings": len(found.findings),
        "hashes": len(found.hashes),
        "ledger_entries_verified": len(ledger.entries),
    }


def oracle_model_dir(ws: Workspace, source: Source, packed: Packed) -> Path:
    """The model directory that the oracle runs for this artifact.

    For f32 it is the snapshot itself. For a quantized artifact it is a derived directory with the
    dequantized weights, so that the oracle and the engines compute the same function and the
    frozen limit judges the engine, not the quantizer.
    """
    if packed.label == "f32":
        return source.root
    target = trlm_home() / "derived" / packed.artifact.file_sha256
    return derive_model_dir(source.root, packed.artifact.path, target, progress=ws.board.report)
