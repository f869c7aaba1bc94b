"""`trlm receipts stale|diff`: what a change invalidates, and why two receipts differ."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from trlm_lab.base.records.node import NODE_TYPES
from trlm_lab.errors import NothingChangedError
from trlm_lab.flows.receipts_view import open_store, sealed_root
from trlm_lab.receipts import ReceiptStore, walk
from trlm_lab.receipts.invalidation import causes, stale


def stale_rows(directory: Path, changed: list[str]) -> list[dict[str, Any]]:
    """What is invalid when nodes change, in the order in which it is made again.

    Each of `changed` is the beginning of a node id, a node type, or `TYPE:TEXT`: the nodes of that
    type whose metadata hold the text.

    Raises:
        StoreMissingError, ReceiptMissingError: no sealed receipt there.
        NodeMissingError: no such node.
        NothingChangedError: nothing under the receipt is meant.
    """
    store, root = open_store(directory), sealed_root(directory)
    meant = {i for name in changed for i in _meant(store, root, name)}
    if not meant:
        raise NothingChangedError(where=", ".join(changed) or "receipts stale")
    return [
        {
            "node": row.node_id,
            "type": row.type,
            "action": row.action,
            "because": [f"{store.get(i).type} {i[:12]}" for i in row.because[1:]],
        }
        for row in stale(store, root, meant)
    ]


def _meant(store: ReceiptStore, root: str, name: str) -> list[str]:
    kind, colon, text = name.partition(":")
    if kind in NODE_TYPES:
        return [
            i
            for i, node in walk(store, root)
            if node.type == kind and (not colon or text in _words(node.metadata))
        ]
    return [store.find(name)]


def _words(metadata: dict[str, Any]) -> str:
    return " ".join(
        v.decode("utf-8", "backslashreplace") if isinstance(v, bytes) else str(v)
        for v in metadata.values()
    )


def cause_rows(old: Path, new: Path) -> list[dict[str, Any]]:
    """Why the receipts of two directories differ: the deepest differences, one row each.

    Raises:
        StoreMissingError, ReceiptMissingError: no sealed receipt in one of them.
    """
    found = causes(open_store(old), sealed_root(old), open_store(new), sealed_root(new))
    return [
        {"type": c.type, "old": c.old, "new": c.new, "differs": ", ".join(c.keys)} for c in found
    ]
