"""Nodes for tests: sound ones of any type, grown from the schemas; and whatever a forger writes."""

from typing import Any

from trlm_lab.base import canon
from trlm_lab.base.records import Node
from trlm_lab.base.records.node_schema import SCHEMAS, Shape
from trlm_lab.receipts import ReceiptStore


def put_loose(
    store: ReceiptStore, node_type: str, metadata: dict[str, Any], children: list[str] | None = None
) -> str:
    """Write a node file as a forger does: no schema, no look at children or blobs."""
    node = Node(node_type, metadata, tuple(children or ()))
    path = store.node_path(node.id)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(node.encode())
    return node.id


def sample(store: ReceiptStore, kind: str, salt: int = 0) -> Any:
    """A value of a metadata kind; other salts give other values of the kinds that have many."""
    values: dict[str, Any] = {
        "sha256": canon.content_id(["sample", salt]),
        "sha256-or-null": None,
        "sha256-or-empty": "",
        "count": salt,
        "flag": True,
        "text": f"text {salt}",
        "text-or-null": None,
        "words": f"words {salt}: /anywhere",
        "texts": [f"text {salt}"],
        "counts": {"one": salt},
        "ids": [salt],
        "path": f"folder/{salt}".encode(),
        "outcome": "MATCH",
        "engine": {
            "name": "engine", "version": "1", "profile": "p", "build_sha256": "ab" * 32,
            "details": {"threads": salt},
        },
    }  # fmt: skip
    return store.put_value(["sample", salt]) if kind == "blob" else values[kind]


def least_children(shape: Shape) -> list[str]:
    """The shortest list of child types that a shape takes."""
    parts = [part for part in shape.children.split(" / ")[0].split() if part[-1] not in "?*"]
    first = [part.rstrip("+").split("|")[0] for part in parts]
    return ["file" if name == "any" else name for name in first]


def metadata_of(store: ReceiptStore, shape: Shape, salt: int = 0) -> dict[str, Any]:
    """Sound metadata of a shape, its optional keys among them."""
    return {key: sample(store, kind, salt) for key, kind in shape.kinds.items()}


def grow(
    store: ReceiptStore, node_type: str, *, shape: int = 0, salt: int = 0, **facts: Any
) -> str:
    """A sound node of a type, and below it whatever it must rest on; returns its id."""
    chosen = SCHEMAS[node_type][shape]
    children = [grow(store, child, salt=salt) for child in least_children(chosen)]
    return store.add(node_type, {**metadata_of(store, chosen, salt), **facts}, children)


def acquired(store: ReceiptStore) -> dict[str, Any]:
    """Metadata of the acquisition of a directory."""
    built = {"trlm_lab": "0.1.0", "python": "3.11.7", "packages": {}}
    return {"pin": "dir:a", "builder_blob": store.put_value(built)}
