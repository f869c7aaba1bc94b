"""`trlm receipts`: what a store holds, one node, the graph under it, and why a node is there."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from trlm_lab.errors import NodeMissingError, ReceiptMissingError, StoreMissingError
from trlm_lab.receipts import ReceiptStore, VerifyReport, walk
from trlm_lab.receipts.history import superseded
from trlm_lab.receipts.verify import read_receipt


def open_store(directory: Path) -> ReceiptStore:
    """The store of a directory.

    Raises:
        StoreMissingError: there is none.
    """
    if not (directory / "nodes").is_dir():
        raise StoreMissingError(where=str(directory))
    return ReceiptStore(directory)


def sealed_root(directory: Path) -> str:
    """The root of the sealed receipt.

    Raises:
        ReceiptMissingError: no receipt, or one that cannot be read.
    """
    report = VerifyReport()
    root = read_receipt(directory, report)
    if root is None:
        raise ReceiptMissingError(where=str(directory), detail=report.findings[0].detail)
    return root


def log_rows(store: ReceiptStore) -> list[dict[str, Any]]:
    """Id and type of every node; of a root also whether its receipt stands, and what came after."""
    standing = _standing(store.root)
    return [{"node": i, "type": store.get(i).type, "receipt": standing.get(i, "")} for i in store]


def _standing(directory: Path) -> dict[str, str]:
    root = read_receipt(directory, VerifyReport())
    rows = {
        row.root: (f"superseded by {row.by[:12]}" if row.by else "superseded, nothing sealed since")
        + ("" if row.whole else "; not whole")
        for row in superseded(directory, root)
    }
    return {**rows, root: "sealed"} if root else rows


def node_row(store: ReceiptStore, prefix: str) -> dict[str, Any]:
    """One node in JSON-ready form. Raises NodeMissingError."""
    found = store.find(prefix)
    node = store.get(found)
    metadata = plain(node.metadata)
    return {"id": found, "type": node.type, "metadata": metadata, "children": list(node.children)}


def graph_rows(store: ReceiptStore, root: str) -> list[dict[str, Any]]:
    """Every node under `root`, parents first."""
    return [{"id": i, "type": n.type, "children": list(n.children)} for i, n in walk(store, root)]


def why_rows(store: ReceiptStore, root: str, prefix: str) -> dict[str, Any]:
    """Who rests on a node: one shortest way from `root` for each node that names it as a child.

    Raises:
        NodeMissingError: no such node, or nothing under `root` rests on it.
    """
    wanted = store.find(prefix)
    ways: dict[str, list[str]] = {root: [root]}
    pending, found = [root], [] if wanted != root else [[root]]
    for node_id in pending:
        for child in dict.fromkeys(store.get(node_id).children):
            if child == wanted:
                found.append([*ways[node_id], child])
            if child not in ways:
                ways[child] = [*ways[node_id], child]
                pending.append(child)
    if not found:
        raise NodeMissingError(where=f"under the receipt {root[:12]}", node_id=wanted)
    paths = [[{"id": i, "type": store.get(i).type} for i in way] for way in found]
    return {"id": wanted, "type": store.get(wanted).type, "paths": paths}


def plain(value: object) -> object:
    """Bytes have no JSON form; paths are shown as text."""
    if isinstance(value, bytes):
        return value.decode("utf-8", "backslashreplace")
    if isinstance(value, dict):
        return {k: plain(v) for k, v in value.items()}
    if isinstance(value, list):
        return [plain(v) for v in value]
    return value
