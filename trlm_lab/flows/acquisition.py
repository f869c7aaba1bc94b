"""Stage 1 and 2: a source becomes a Snapshot, and a Snapshot an effective configuration."""

from __future__ import annotations

import json
import platform
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

from trlm_lab import __version__
from trlm_lab.acquire import acquire, download_bytes, verify_snapshot
from trlm_lab.acquire.snapshot_store import snapshots_root
from trlm_lab.base.blobs import file_sha256
from trlm_lab.base.document_names import documents
from trlm_lab.base.licence_state import is_undecided
from trlm_lab.base.records import EffectiveConfig, Snapshot, SourceDefault, SourceDefaults
from trlm_lab.describe import describe
from trlm_lab.errors import NoRunError
from trlm_lab.flows.checking import approval
from trlm_lab.flows.identity import package_sha256
from trlm_lab.flows.licensing import licence_state
from trlm_lab.flows.plan import LOCAL_SCHEMES, shown_source
from trlm_lab.flows.workspace import Workspace

#: Packages that fetch files or read weights.
_READERS = ("gguf", "huggingface-hub", "numpy", "safetensors")


@dataclass(frozen=True)
class Source:
    """An acquired source with the ids of its receipt nodes by name; `spec` is what it was named."""

    snapshot: Snapshot
    nodes: dict[str, str] = field(default_factory=dict)
    spec: str = ""

    @property
    def root(self) -> Path:
        """The snapshot directory."""
        return self.snapshot.root

    @property
    def on_grid(self) -> str:
        """The warning that these weights already lie on a quantization grid, or empty."""
        note = self.snapshot.provenance.get("weights_on_quantized_grid")
        return str(note) if note else ""


@dataclass(frozen=True)
class Described:
    """Configuration and defaults with their nodes; `receipt` is the map of the conflict receipt."""

    config: EffectiveConfig
    defaults: SourceDefaults
    receipt: dict[str, Any] = field(default_factory=dict)
    nodes: dict[str, str] = field(default_factory=dict)


def acquire_source(ws: Workspace, spec: str) -> Source:
    """Acquire (or re-verify the cached snapshot of) a source and write its receipts."""
    snapshot = _known(ws, spec) if ws.trusted else None
    if snapshot is None and ws.trusted and _is_name_alone(spec):
        detail = f"the snapshot of {spec} that this run acquired is not in the cache any more"
        raise NoRunError(where=str(ws.out), detail=detail)
    snapshot = snapshot or _acquired(ws, spec)
    licence = snapshot.provenance.get("licence")
    if is_undecided(licence) and not ws.trusted:
        ws.board.say(f"licence {licence_state(licence)} (docs/acquisition.md)")
    store = ws.store
    files = [
        store.add("file", {"path": f.path, "size": f.size, "sha256": f.sha256}, [])
        for f in snapshot.files
    ]
    tree = store.add(
        "source_tree", {"snapshot_id": snapshot.snapshot_id, "files": len(files)}, files
    )
    provenance = store.add(
        "provenance", {"statement_blob": store.put_value(snapshot.provenance)}, [tree]
    )
    text = snapshot.file("LICENSE")
    held = {f.path.decode("utf-8", "replace"): f.sha256 for f in snapshot.files}
    decision = store.add(
        "licence",
        {
            "text_sha256": text.sha256 if text else None,
            "decision_blob": store.put_value(licence),
            "documents_blob": store.put_value(documents(held)),
        },
        [tree],
    )
    acquisition = store.add(
        "acquisition",
        {"pin": snapshot.pin.spelled, "builder_blob": store.put_value(builder())},
        [tree, provenance, decision],
    )
    nodes = {"source_tree": tree, "provenance": provenance, "acquisition": acquisition}
    return Source(snapshot, nodes, spec)


def admit_source(ws: Workspace, spec: str) -> tuple[Source, Described]:
    """Acquire and describe: whoever runs the weights of a source, in any engine, begins here.

    Raises:
        Refused: tree, weights, licence or declarations break a rule, also those that only the
            framework's own defaults show.
    """
    source = acquire_source(ws, spec)
    return source, describe_source(ws, source)


def builder() -> dict[str, Any]:
    """What acquired and converted: versions of this package, of Python and of what reads files."""
    packages = {name: version(name) for name in _READERS}
    return {"trlm_lab": __version__, "python": platform.python_version(), "packages": packages}


def _acquired(ws: Workspace, spec: str) -> Snapshot:
    size = download_bytes(spec)
    download = f" ({size / 1e6:.0f} MB to download)" if size else ""
    ws.board.say(f"acquire {spec}{download}")
    approve = approval(ws.resolutions)
    return acquire(spec, progress=ws.board.report, approve=approve, rules=ws.rules)


def _is_name_alone(spec: str) -> bool:
    """Whether a source of this machine is named as others may read it, and so can't be found."""
    scheme, _, locator = spec.partition(":")
    return scheme in LOCAL_SCHEMES and not Path(locator).is_absolute()


def _known(ws: Workspace, spec: str) -> Snapshot | None:
    """The snapshot that the run in this directory acquired, where the cache still has it.

    A branch may have moved since, a directory changed: a reopened run speaks of what it ran on.
    What was acquired and then refused, it did not run on.
    """
    folder, snapshot_id = ws.recall("source", {"spec": shown_source(spec)}) or ("", "")
    root = snapshots_root() / folder
    if not folder or not root.is_dir():
        return None
    snapshot = verify_snapshot(root, ws.board.report)
    return snapshot if snapshot.snapshot_id == snapshot_id else None


def _remember(ws: Workspace, source: Source) -> None:
    snapshot = source.snapshot
    if source.spec and not ws.trusted and snapshot.root.parent == snapshots_root():
        spec = shown_source(source.spec)
        ws.remember("source", {"spec": spec}, [snapshot.root.name, snapshot.snapshot_id])


def describe_source(ws: Workspace, source: Source) -> Described:
    """Read the defaults out of the pinned framework and materialise the configuration."""
    inputs = {
        "snapshot": source.snapshot.snapshot_id,
        "torch": version("torch"),
        "transformers": version("transformers"),
        "package": package_sha256(),
        "resolutions": [r.to_map() for r in ws.resolutions],
    }
    row = ws.once("described", inputs, lambda: _describe(ws, source))
    _remember(ws, source)
    defaults = SourceDefaults(
        row["framework"], tuple(SourceDefault(n, json.loads(v), o) for n, v, o in row["values"])
    )
    config = EffectiveConfig.from_map(row["config"])
    conflict_node = ws.store.add(
        "conflict",
        {"findings": row["conflicts"], "receipt_blob": ws.store.put_value(row["receipt"])},
        [source.nodes["source_tree"]],
    )
    resolved = [_resolution_node(ws, row, conflict_node) for row in row["receipt"]["resolutions"]]
    defaults_node = ws.store.add(
        "source_defaults",
        {"framework": row["framework"], "values_blob": ws.store.put_value(row["values"])},
        [source.nodes["source_tree"]],
    )
    config_node = ws.store.add(
        "effective_config",
        {"config_id": config.config_id, "config_blob": ws.store.put_value(row["config"])},
        [source.nodes["acquisition"], conflict_node, defaults_node, *resolved],
    )
    nodes = {"source_defaults": defaults_node, "effective_config": config_node}
    return Described(config, defaults, row["receipt"], nodes)


def _resolution_node(ws: Workspace, row: dict[str, Any], conflict_node: str) -> str:
    """A reviewed decision; the configuration rests on it, and so does everything below."""
    names = ("conflict_id", "code", "field", "kind", "file_sha256", "statement")
    metadata = {name: row[name] for name in names}
    metadata["resolution_blob"] = ws.store.put_value(row)
    return ws.store.add("resolution", metadata, [conflict_node])


def _describe(ws: Workspace, source: Source) -> dict[str, Any]:
    from trlm_lab.oracle import source_defaults

    ws.board.say("describe: defaults from the source framework, conflicts, configuration")
    defaults = source_defaults(source.root)
    described = describe(source.root, defaults, ws.resolutions)
    return {
        "conflicts": len(described.receipt.findings),
        "receipt": described.receipt.to_map(),
        "framework": defaults.framework,
        "values": [[d.name, json.dumps(d.value), d.origin] for d in defaults.values],
        "config": described.config.to_map(),
    }


def weights_sha256(model_dir: Path) -> str:
    """SHA-256 of the weights file of a model directory."""
    return file_sha256(model_dir / "model.safetensors")
