"""`trlm verify` and `trlm receipts`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from trlm_lab.flows.cli.output import emit_json, emit_table
from trlm_lab.flows.cli.runs import Json


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command()(verify)
    app.command()(receipts)


def verify(directory: Path, json: Json = False) -> int:
    """Re-check every hash, node, claim and blob of a receipt store, as a stranger would."""
    from trlm_lab.errors import PathMissingError
    from trlm_lab.flows.progress import Board
    from trlm_lab.flows.verification import verify_directory

    if not directory.is_dir():
        raise PathMissingError(where=str(directory))
    with Board() as board:
        report = verify_directory(directory, board.report)
    if json:
        emit_json(
            {
                "verdict": "accept" if report.sound else "refuse",
                "conformance_receipt_id": report.root,
                "nodes": report.nodes,
                "blobs": report.blobs,
                "files": report.files,
                "findings": [vars(f) for f in report.findings],
            }
        )
    else:
        for finding in report.findings:
            print(f"{finding.level} {finding.code} at {finding.where}: {finding.detail}")
        print(f"{report.nodes} nodes, {report.blobs} blobs, {report.files} files checked")
        unsealed = any(f.code == "RECEIPT_MISSING" for f in report.findings)
        if unsealed:
            print("not sealed: no run has finished here; run it again to go on")
        else:
            print(f"{'sound' if report.sound else 'NOT SOUND'}  {report.root}")
    return 0 if report.sound else 1


def receipts(
    action: Annotated[str, typer.Argument(help="log, show or graph")],
    node: Annotated[str, typer.Argument(help="Node id or its beginning (show).")] = "",
    directory: Annotated[Path, typer.Option("--dir", help="Receipt store.")] = Path("reports/demo"),
    json: Json = False,
) -> int:
    """Look into the receipt store."""
    from trlm_lab.errors import UnknownNameError
    from trlm_lab.receipts import ReceiptStore, VerifyReport, render_graph, walk
    from trlm_lab.receipts.verify import read_receipt

    store = ReceiptStore(directory)
    if action == "log":
        rows = [{"node": i, "type": store.get(i).type} for i in store]
        emit_json(rows) if json else emit_table(rows)
    elif action == "show":
        found = store.find(node)
        shown = store.get(found)
        document = {"id": found, "type": shown.type, "metadata": _plain(shown.metadata),
                    "children": list(shown.children)}  # fmt: skip
        emit_json(document)
    elif action == "graph":
        root = store.find(node) if node else str(read_receipt(directory, VerifyReport()))
        if json:
            emit_json(
                [{"id": i, "type": n.type, "children": n.children} for i, n in walk(store, root)]
            )
        else:
            print(render_graph(store, root))
    else:
        raise UnknownNameError(kind="action", name=action, known="log, show, graph")
    return 0


def _plain(value: object) -> object:
    """Bytes have no JSON form; paths are shown as text."""
    if isinstance(value, bytes):
        return value.decode("utf-8", "backslashreplace")
    if isinstance(value, dict):
        return {k: _plain(v) for k, v in value.items()}
    if isinstance(value, list):
        return [_plain(v) for v in value]
    return value
