"""An append-only store of receipt nodes and blobs in one directory.

`nodes/<node id>` holds the canonical CBOR of a node, `blobs/<sha256>` raw bytes. Writes are
atomic and durable; storing the same node twice is one node; nothing here deletes or changes one.
A node is stored after everything that it names, so whatever can be found is whole.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from trlm_lab.base import canon
from trlm_lab.base.blobs import DirectoryBlobStore, store_once
from trlm_lab.base.records import Node
from trlm_lab.base.records.node_schema import blob_keys, check_children, check_metadata
from trlm_lab.errors import (
    BlobMissingError,
    ChildMissingError,
    NodeCorruptError,
    NodeLargeError,
    NodeMissingError,
)

#: A larger node is neither stored nor decoded; the largest of a run have some thousand bytes.
LARGEST_NODE = 16 << 20


class ReceiptStore:
    """Nodes and blobs under `root`."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.blobs = DirectoryBlobStore(root / "blobs")
        self._nodes = root / "nodes"
        self._folder = f"{self._nodes}{os.sep}"

    def node_path(self, node_id: str) -> Path:
        """Where a node lies or would lie."""
        return self._nodes / node_id

    def node_file(self, node_id: str) -> str:
        """As `node_path`, as a text: a path object costs more than the parsing of a small node."""
        return f"{self._folder}{node_id}"

    def put(self, node: Node) -> str:
        """Store a node whose children and blobs are already here; returns its id.

        Raises:
            NodeSchemaError: metadata or children are not those of its type.
            ChildMissingError, BlobMissingError: what it names is not in the store.
            NodeLargeError: more bytes than verification reads.
            StoreWriteError: the disk is full, or this user may not write here.
        """
        shape = check_metadata(node.type, node.metadata)
        check_children(node.type, shape, [self._child_type(node, c) for c in node.children])
        for key in blob_keys(shape, node.metadata):
            if node.metadata[key] not in self.blobs:
                raise BlobMissingError(where=f"{node.type}.{key}", sha256=node.metadata[key])
        data = node.encode()
        if len(data) > LARGEST_NODE:
            raise NodeLargeError(where=node.type, size=len(data), limit=LARGEST_NODE)
        store_once(self.node_path(node.id), data)
        return node.id

    def _child_type(self, node: Node, child: str) -> str:
        try:
            return self.get(child).type
        except NodeMissingError:
            raise ChildMissingError(where=node.type, child=child) from None

    def add(self, node_type: str, metadata: dict[str, Any], children: list[str]) -> str:
        """Build and store a node; returns its id. Raises as `put`."""
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
        return self.parse(node_id, path.read_bytes())

    def parse(self, node_id: str, data: bytes) -> Node:
        """The node of this id from the bytes that are stored under it.

        Raises:
            NodeCorruptError: the bytes make another id.
            NotCanonicalError, RecordError: they are no node.
        """
        where = self.node_file(node_id)
        node = Node.decode(data, where=where)
        got = canon.stored_node_id(data, node.type, len(node.children))
        if got != node_id:
            raise NodeCorruptError(where=where, got=got, expected=node_id)
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
