"""A typed node of the receipt graph."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from trlm_lab.base import canon
from trlm_lab.base.records.checks import require, require_sha256
from trlm_lab.base.records.node_schema import RESERVED, SCHEMAS
from trlm_lab.errors import RecordError

#: Every kind of evidence; a new kind gets a schema in `node_schema`.
NODE_TYPES: frozenset[str] = frozenset(SCHEMAS) | RESERVED


@dataclass(frozen=True)
class Node:
    """Type, metadata (canonical; no times, hosts, absolute paths) and ordered child ids.

    A metadata key that ends in `_blob` holds the SHA-256 of a blob in the store. Whether the
    metadata are those of the type is checked where a node is stored and where a store is verified:
    what another version wrote can still be read.
    """

    type: str
    metadata: dict[str, Any] = field(default_factory=dict)
    children: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.type not in NODE_TYPES:
            raise RecordError(where="node", detail=f"type {self.type!r} is not in the table")
        where = f"child of {self.type}"
        for child in self.children:
            require_sha256(child, where)

    @property
    def id(self) -> str:
        """Content address over type, metadata and children."""
        return canon.node_id(self.type, self.metadata, list(self.children))

    def encode(self) -> bytes:
        """The stored form: canonical CBOR of the three parts."""
        return canon.encode(
            {
                "type": self.type,
                "metadata": self.metadata,
                "children": [bytes.fromhex(c) for c in self.children],
            }
        )

    @classmethod
    def decode(cls, data: bytes, *, where: str = "") -> Node:
        """Inverse of `encode`. Raises NotCanonicalError or RecordError."""
        row = canon.decode(data, where=where)
        ok = isinstance(row, dict) and set(row) == {"type", "metadata", "children"}
        require(ok, where or "node", "a node is a map of type, metadata and children")
        kinds = (
            isinstance(row["type"], str),
            isinstance(row["metadata"], dict),
            isinstance(row["children"], list)
            and all(isinstance(c, bytes) and len(c) == 32 for c in row["children"]),
        )
        require(all(kinds), where or "node", "type is text, metadata a map, children 32-byte ids")
        return cls(row["type"], row["metadata"], tuple(c.hex() for c in row["children"]))
