"""An append-only store of receipt nodes and blobs in one directory.

`nodes/<node id>` holds the canonical CBOR of a node, `blobs/<sha256>` raw bytes. Writes are
atomic; storing the same node twice is one node; nothing here deletes or overwrites.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from trlm_lab.base import canon
from trlm_lab.base.blobs import DirectoryBlobStore, write_atomically
from trlm_lab.base.records import Node
from trlm_lab.errors import ChildMissingError, NodeCorruptError, NodeMissingError


class ReceiptStore:
    """Nodes and blobs under `root`."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.blobs = DirectoryBlobStore(root / "blobs")
        self._nodes = root / "nodes"

    def node_path(self, node_id: str) -> Path:
        """Where a node lies or would lie."""
        return self._nodes / node_id

    def put(self, node: Node) -> str:
        """Store a node whose children are already here; returns its id.

        Raises:
            ChildMissingError: a child id is not in the store.
        """
        for child in node.children:
            if not self.node_path(child).exists():
                raise ChildMissingError(where=node.type, child=child)
        path = self.node_path(node.id)
        if not path.exists():
            write_atomically(path, node.encode())
        return node.id

    def add(self, node_type: str, metadata: dict[str, Any], children: list[str]) -> str:
        """Build and store a node; returns its id."""
        return self.put(Node(node_type, metadata, tuple(children)))

    def put_value(self, value: Any) -> str:
        """Store the canonical encoding of a value as a blob; returns its SHA-256."""
        return self.blobs.put(canon.encode(value))

    def get_value(self, sha256: str) -> Any:
        """Decode a blob that `put_value` stored."""
        return canon.decode(self.blobs.get(sha256), where=str(self.blobs.path(sha256)))

    def get(self, node_id: str) -> Node:
        """Fetch a node, checked.

        Raises:
            NodeMissingError: no such node.
            NodeCorruptError: the stored bytes make another id.
        """
        path = self.node_path(node_id)
        if not path.is_file():
            raise NodeMissingError(where=str(self._nodes), node_id=node_id)
        node = Node.decode(path.read_bytes(), where=str(path))
        if node.id != node_id:
            raise NodeCorruptError(where=str(path), got=node.id, expected=node_id)
        return node

    def find(self, prefix: str) -> str:
        """The one node id that begins with `prefix`. Raises NodeMissingError."""
        hits = [i for i in self if i.startswith(prefix)]
        if len(hits) != 1:
            raise NodeMissingError(where=str(self._nodes), node_id=f"{prefix}… ({len(hits)} hits)")
        return hits[0]

    def __iter__(self) -> Iterator[str]:
        if self._nodes.exists():
            yield from sorted(p.name for p in self._nodes.iterdir() if p.name[0] != ".")
