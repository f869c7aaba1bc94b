"""A node with everything that it rests on, out of one store and on its way into another."""

from __future__ import annotations

from dataclasses import dataclass

from trlm_lab.base.records import Node
from trlm_lab.receipts import ReceiptStore, walk
from trlm_lab.receipts.verify import blob_references


@dataclass(frozen=True)
class Grounds:
    """The nodes below and at `root`, children before parents, and the blobs that they name."""

    root: str
    nodes: tuple[Node, ...]
    blobs: tuple[bytes, ...]

    @classmethod
    def of(cls, store: ReceiptStore, root: str) -> Grounds:
        """Read them from a store. Raises as `ReceiptStore.get`."""
        nodes = _children_first(store, root)
        named = dict.fromkeys(sha256 for node in nodes for _, sha256 in blob_references(node))
        return cls(root, nodes, tuple(map(store.blobs.get, named)))

    def put(self, store: ReceiptStore) -> str:
        """Store them; returns the id of the root. Raises StoreWriteError."""
        for blob in self.blobs:
            store.blobs.put(blob)
        for node in self.nodes:
            store.put(node)
        return self.root


def _children_first(store: ReceiptStore, root: str) -> tuple[Node, ...]:
    """A node comes when all its children have; the graph has no cycles, since ids are hashes."""
    waiting = dict(walk(store, root))
    ordered: dict[str, Node] = {}
    while waiting:
        ready = {i: n for i, n in waiting.items() if ordered.keys() >= set(n.children)}
        ordered |= ready
        waiting = {i: n for i, n in waiting.items() if i not in ready}
    return tuple(ordered.values())
