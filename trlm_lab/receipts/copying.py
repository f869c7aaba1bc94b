"""A graph from one store into another."""

from __future__ import annotations

from trlm_lab.receipts.store import ReceiptStore
from trlm_lab.receipts.verify import blob_references


def copy_graph(source: ReceiptStore, target: ReceiptStore, root: str) -> None:
    """Store `root` and everything that it rests on, what is named before what names it.

    Raises:
        NodeMissingError, NodeCorruptError, BlobMissingError: `source` is not sound.
        StoreWriteError: as `ReceiptStore.put`.
    """
    done: set[str] = set()
    pending = [root]
    while pending:
        node = source.get(pending[-1])
        missing = [child for child in node.children if child not in done]
        if missing:
            pending.extend(missing)
            continue
        for _, sha256 in blob_references(node):
            target.blobs.put(source.blobs.get(sha256))
        done.add(target.put(node))
        pending.pop()
