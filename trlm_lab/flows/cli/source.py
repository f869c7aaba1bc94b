"""`trlm acquire`, `trlm check`, `trlm describe`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from trlm_lab.flows.cli.output import emit_json, emit_line, emit_table
from trlm_lab.flows.cli.reviewed import takes_reviewed
from trlm_lab.flows.cli.runs import SOURCES, Json
from trlm_lab.flows.reviewed_files import Reviewed


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command()(acquire)
    app.command()(check)
    app.command()(describe)


@takes_reviewed
def acquire(
    source: Annotated[str, typer.Argument(help=SOURCES)],
    reviewed: Reviewed,
    out: Annotated[Path | None, typer.Option(help="Copy the snapshot here.")] = None,
    json: Json = False,
) -> int:
    """Fetch and convert a source into a verified snapshot."""
    from trlm_lab.acquire import acquire as fetch
    from trlm_lab.acquire import export_snapshot, require_export
    from trlm_lab.flows.checking import approval
    from trlm_lab.flows.licensing import licence_state
    from trlm_lab.flows.progress import Board
    from trlm_lab.flows.reviewed_source import read_reviewed

    if out is not None:
        require_export(out)
    with Board() as board:
        settled = read_reviewed(reviewed)
        approve = approval(settled.resolutions)
        snapshot = fetch(source, progress=board.report, approve=approve, rules=settled.rules)
        if out is not None:
            snapshot = export_snapshot(snapshot, out)
    licence = snapshot.provenance.get("licence")
    rows = [{"file": f.display, "bytes": f.size, "sha256": f.sha256} for f in snapshot.files]
    if json:
        facts = {"snapshot_id": snapshot.snapshot_id, "root": str(snapshot.root), "files": rows}
        emit_json(facts | {"licence": licence})
    else:
        emit_table(rows, f"Snapshot {snapshot.snapshot_id}")
        emit_line(f"licence {licence_state(licence)}")
        print(snapshot.root)
    return 0


def check(path: Path, json: Json = False) -> int:
    """Judge a model directory, safetensors, GGUF, `.slm`, tokenizer, golden container: accept?"""
    from trlm_lab.flows.checking import check_path

    document = check_path(path)
    if json:
        emit_json(document)
    else:
        emit_line(f"{path}: {document['verdict']}")
        for finding in document["findings"]:
            mark = "" if finding["level"] == "error" else f" ({finding['level']})"
            emit_line(f"  {finding['code']}{mark} at {finding['where']}: {finding['detail']}")
            emit_line(f"      {finding['fix']}")
    return 0 if document["verdict"] == "accept" else 3


@takes_reviewed
def describe(
    source: Annotated[str, typer.Argument(help=SOURCES)],
    reviewed: Reviewed,
    json: Json = False,
) -> int:
    """Evidence in four columns, conflicts, and the effective configuration with its origins."""
    from trlm_lab.flows.description import described_document

    document = described_document(source, reviewed)
    if json:
        emit_json(document)
    else:
        _show_description(document)
    return 0 if document["conflicts"]["verdict"] == "accept" else 3


def _show_description(document: dict[str, Any]) -> None:
    receipt = document["conflicts"]
    emit_table(document["evidence"], f"Declarations: {receipt['verdict']}")
    for finding in receipt["findings"]:
        emit_line(
            f"{finding['code']} ({finding['level']}) at {finding['where']}: {finding['detail']}"
        )
        if finding["level"] == "error":
            emit_line(f"    {finding['fix']}")
            emit_line(f"    conflict {finding['conflict_id']}")
    for row in receipt["resolutions"]:
        emit_line(f"RESOLVED by {row['reviewer']}: {row['statement']}")
    if document["config"] is not None:
        origins = document["origins"]
        rows = [
            {
                "field": name,
                "value": str(value)[:60],
                "origin": origins.get(name, "the files agree"),
            }
            for name, value in document["config"].items()
        ]
        emit_table(rows, document["framework"])
