"""`trlm golden export` and `verify`: cases of a stored trace become containers that stand alone."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from trlm_lab.errors import GoldenExportError
from trlm_lab.flows.acquisition import Source, acquire_source
from trlm_lab.flows.golden_exporter import Exported, Exporter, Trace, vectors_sha256
from trlm_lab.flows.licensing import require_decided
from trlm_lab.flows.progress import Board
from trlm_lab.flows.reviewed_files import NOTHING, Reviewed
from trlm_lab.flows.reviewed_source import read_reviewed
from trlm_lab.flows.single import open_trace
from trlm_lab.flows.store_directory import require_store
from trlm_lab.flows.workspace import Workspace
from trlm_lab.golden import CASE_FILE, Bounds, check_golden
from trlm_lab.receipts import ReceiptStore
from trlm_lab.traces import SafetensorsTrace, TraceStore

__all__ = [
    "RECEIPTS",
    "Exported",
    "export_golden",
    "golden_directories",
    "vectors_sha256",
    "verify_golden",
]

RECEIPTS = "receipts"


def export_golden(
    trace: Path,
    model: str,
    out: Path,
    board: Board,
    *,
    cases: Sequence[str] = (),
    bounds: Bounds = Bounds(),  # noqa: B008 - frozen
    policy: Path | None = None,
    reviewed: Reviewed = NOTHING,
) -> list[Exported]:
    """Write `out/<case>` for cases of a trace (all where none is named), receipts beside them.

    Raises:
        GoldenExportError: the trace lacks what is asked for, is of another model, or what would be
            written holds a secret.
        LicenceUndecidedError: nobody decided on the licence of the model.
        TraceCorruptError: an array is not the one that was captured.
        DirectoryForeignError, StoreWriteError: what lies beside is no store, or not to be written.
    """
    require_store(out / RECEIPTS)
    view = open_trace(trace)
    assert isinstance(view, TraceStore | SafetensorsTrace)
    unknown = [name for name in cases if name not in view.case_ids()]
    if unknown or not view.case_ids():
        raise GoldenExportError(where=str(trace), detail=f"the trace has no case {unknown or ''}")
    settled = read_reviewed(reviewed)
    with tempfile.TemporaryDirectory() as scratch:
        ws = settled.workspace(Path(scratch), board)
        source, published = _bound_source(ws, view, model), ReceiptStore(out / RECEIPTS)
        writer = Exporter(ws, view, source, policy, published, settled.exceptions)
        return [writer.export(out, name, bounds) for name in (cases or view.case_ids())]


def _bound_source(ws: Workspace, view: Trace, model: str) -> Source:
    source = acquire_source(ws, model if ":" in model else f"dir:{model}")
    require_decided(source.snapshot.provenance.get("licence"), model)
    stated = view.subject.get("snapshot")
    if stated not in (None, source.snapshot.snapshot_id):
        detail = f"the trace is of the snapshot {stated}, the model is another"
        raise GoldenExportError(where=model, detail=detail)
    return source


def golden_directories(path: Path) -> list[Path]:
    """The case directories under a path: itself, or those in it, sorted."""
    if path.is_file() or (path / CASE_FILE).exists():
        return [path]
    # What begins with a dot is an export that was killed.
    inside = sorted(p.parent for p in path.glob(f"[!.]*/{CASE_FILE}")) if path.is_dir() else []
    return inside or [path]


def verify_golden(path: Path, reader: str = "python") -> dict[str, Any]:
    """`{"verdict", "cases", "findings"}` of every case under a path; `reader` python or native.

    Raises:
        InfrastructureError: the native reader cannot be built.
    """
    rows: list[dict[str, Any]] = []
    directories = golden_directories(path)
    for directory in directories:
        for finding in _findings(directory, reader):
            place = f"{directory.name}/{finding['where']}" if len(directories) > 1 else ""
            rows.append({**finding, "where": place or finding["where"]})
    refused = any(row.get("level", "error") == "error" for row in rows)
    verdict = "refuse" if refused else "accept"
    return {"verdict": verdict, "cases": len(directories), "findings": rows}


def _findings(directory: Path, reader: str) -> list[dict[str, Any]]:
    if reader == "python":
        return check_golden(directory)
    from trlm_lab.backends.native_command import golden_verify
    from trlm_lab.golden import golden_root

    found: list[dict[str, Any]] = golden_verify(golden_root(directory))["findings"]
    return found
