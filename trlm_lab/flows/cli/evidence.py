"""`trlm verify` and `trlm receipts`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from trlm_lab.flows.cli.output import emit_json, emit_line, emit_table
from trlm_lab.flows.cli.runs import Json


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command()(verify)
    app.command()(receipts)


def verify(
    directory: Path,
    key: Annotated[Path | None, typer.Option("--key", help="Signer's public key (PEM).")] = None,
    recompute: Annotated[
        bool, typer.Option("--recompute", help="Judge every row again from the stored arrays.")
    ] = False,
    json: Json = False,
) -> int:
    """Re-check every hash, node, claim and blob of a receipt store, as a stranger would."""
    from trlm_lab.attest import read_public_key
    from trlm_lab.errors import PathMissingError
    from trlm_lab.flows.attestation import check_attestations
    from trlm_lab.flows.progress import Board
    from trlm_lab.flows.verification import verify_directory

    if not directory.is_dir():
        raise PathMissingError(where=str(directory))
    if key is not None:
        # A wrong key is said before the long work.
        read_public_key(key)
    with Board() as board:
        report = verify_directory(directory, board.report, recompute=recompute)
        signed = check_attestations(directory, report, key)
    if json:
        emit_json(
            {
                "verdict": "accept" if report.sound else "refuse",
                "kind": report.kind,
                "proves": report.proves,
                "conformance_receipt_id": report.root,
                "nodes": report.nodes,
                "blobs": report.blobs,
                "files": report.files,
                "recomputed_rows": report.recomputed,
                "signed": vars(signed) if signed else None,
                "findings": [vars(f) for f in report.findings],
            }
        )
    else:
        for finding in report.findings:
            remedy = f" Fix: {finding.fix}" if finding.fix else ""
            emit_line(
                f"{finding.level} {finding.code} at {finding.where}: {finding.detail}.{remedy}"
            )
        print(f"{report.nodes} nodes, {report.blobs} blobs, {report.files} files checked")
        if report.recomputed:
            print(f"{report.recomputed:,} rows judged again from the stored arrays")
        if signed:
            print(f"{signed.statements} statements carry a signature of key {signed.keyid}")
        unsealed = any(f.code == "RECEIPT_MISSING" for f in report.findings)
        if unsealed:
            print("not sealed: no run has finished here; run it again to go on")
        else:
            print(f"{'sound' if report.sound else 'NOT SOUND'}  {report.root}")
            print(f"proves: {report.proves if report.sound else 'nothing'}")
    return 0 if report.sound else 1


ACTIONS = ("log", "show", "graph", "why", "stale", "diff")


def receipts(
    action: Annotated[str, typer.Argument(help="log, show, graph, why, stale or diff")],
    what: Annotated[
        list[str] | None,
        typer.Argument(help="A node id's beginning; stale: also TYPE or TYPE:TEXT; diff: DIR."),
    ] = None,
    directory: Annotated[Path, typer.Option("--dir", help="Receipt store.")] = Path("reports/demo"),
    json: Json = False,
) -> int:
    """Look into the receipt store.

    log: all nodes; show: one; graph: what a node rests on; why: who rests on a node; stale: what
    is invalid when nodes change, and what each then needs; diff: why two receipts differ.
    """
    from trlm_lab.errors import UnknownNameError
    from trlm_lab.flows.receipts_change import stale_rows
    from trlm_lab.flows.receipts_view import (
        graph_rows,
        log_rows,
        node_row,
        open_store,
        sealed_root,
        why_rows,
    )
    from trlm_lab.receipts import render_graph

    if action not in ACTIONS:
        raise UnknownNameError(kind="action", name=action, known=", ".join(ACTIONS))
    node = what[0] if what else ""
    store = open_store(directory)
    if action in ("stale", "diff"):
        rows = stale_rows(directory, what or []) if action == "stale" else _diff(directory, node)
        emit_json(rows) if json else emit_table([_flat(row) for row in rows])
    elif action == "log":
        rows = log_rows(store)
        emit_json(rows) if json else emit_table(rows)
    elif action == "show":
        emit_json(node_row(store, node))
    elif action == "graph":
        root = store.find(node) if node else sealed_root(directory)
        emit_json(graph_rows(store, root)) if json else print(render_graph(store, root))
    else:
        answer = why_rows(store, sealed_root(directory), node)
        if json:
            emit_json(answer)
        for path in () if json else answer["paths"]:
            print(" > ".join(f"{step['type']} {step['id'][:12]}" for step in path))
    return 0


def _diff(directory: Path, other: str) -> list[dict[str, Any]]:
    from trlm_lab.flows.receipts_change import cause_rows

    return cause_rows(Path(other), directory)


def _flat(row: dict[str, Any]) -> dict[str, Any]:
    """A row of ids and ways, short enough for a line."""
    return {
        key: " > ".join(value)
        if isinstance(value, list)
        else str(value)[:12]
        if key in ("node", "old", "new")
        else value
        for key, value in row.items()
    }
