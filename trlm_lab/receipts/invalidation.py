"""What a change invalidates: exactly the nodes that rest on what changed, and what each then needs.

Retained arrays make a comparison cheap: it is recomputed, no model runs again.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from trlm_lab.base.records import Node
from trlm_lab.receipts.graph import walk
from trlm_lab.receipts.store import ReceiptStore

RUN = "run again"
RECOMPUTE = "recompute from stored arrays"
WRITE = "write again"

#: What a node of each type needs once it is invalid; every other type is made again by its stage.
_ACTIONS = {
    "comparison": RECOMPUTE,
    "tolerance_policy": RECOMPUTE,
    "promotion": RECOMPUTE,
    "mismatch": RECOMPUTE,
    "notebook": WRITE,
    "report": WRITE,
    "secret_scan": WRITE,
}


@dataclass(frozen=True)
class Stale:
    """An invalid node, what it needs, and one shortest way down to what changed (ids)."""

    node_id: str
    type: str
    action: str
    because: tuple[str, ...]


def stale(store: ReceiptStore, root: str, changed: Collection[str]) -> list[Stale]:
    """Every node under `root` that rests on a changed one, what it rests on before itself.

    The changed nodes are not listed: they are replaced, not invalid.

    Raises:
        NodeMissingError: the graph is not whole.
    """
    nodes = dict(walk(store, root))
    ways: dict[str, tuple[str, ...]] = {i: (i,) for i in changed if i in nodes}
    parents: dict[str, list[str]] = {}
    for node_id, node in nodes.items():
        for child in dict.fromkeys(node.children):
            parents.setdefault(child, []).append(node_id)
    pending = sorted(ways)
    for node_id in pending:
        for parent in parents.get(node_id, ()):
            if parent not in ways:
                ways[parent] = (parent, *ways[node_id])
                pending.append(parent)
    order = list(_children_first(nodes, root))
    return [
        Stale(i, nodes[i].type, _action(nodes[i]), ways[i])
        for i in order
        if i in ways and i not in changed
    ]


def _action(node: Node) -> str:
    """A judgement by golden containers keeps no arrays to recompute from."""
    return RUN if "verdicts_blob" in node.metadata else _ACTIONS.get(node.type, RUN)


def _children_first(nodes: dict[str, Node], root: str) -> Iterator[str]:
    done: set[str] = set()
    pending = [(root, False)]
    while pending:
        node_id, expanded = pending.pop()
        if expanded:
            yield node_id
        elif node_id not in done:
            done.add(node_id)
            pending.append((node_id, True))
            pending.extend((c, False) for c in reversed(nodes[node_id].children) if c not in done)


@dataclass(frozen=True)
class Cause:
    """A node that differs by itself, and not only because something under it does.

    `old` or `new` is empty where the node was added or taken away; `keys` are the metadata that
    differ.
    """

    type: str
    old: str
    new: str
    keys: tuple[str, ...] = ()


def causes(
    old_store: ReceiptStore, old_root: str, new_store: ReceiptStore, new_root: str
) -> list[Cause]:
    """Why two receipts differ: the deepest nodes that do, paired by type and place.

    Raises:
        NodeMissingError: a graph is not whole.
    """
    found: dict[Cause, None] = {}
    seen: set[tuple[str, str]] = set()
    pending = [(old_root, new_root)]
    while pending:
        pair = pending.pop()
        if pair in seen or pair[0] == pair[1]:
            continue
        seen.add(pair)
        old, new = old_store.get(pair[0]), new_store.get(pair[1])
        pairs = list(_paired(old_store, old, new_store, new))
        below = [(a, b) for _, a, b in pairs if a and b and a != b]
        for kind, a, b in pairs:
            if not (a and b):
                found.setdefault(Cause(kind, a, b))
        if not below and all(a and b for _, a, b in pairs):
            found.setdefault(Cause(new.type, *pair, _changed_keys(old, new)))
        pending.extend(below)
    return list(found)


def _changed_keys(old: Node, new: Node) -> tuple[str, ...]:
    keys = sorted(old.metadata.keys() | new.metadata.keys())
    return tuple(k for k in keys if old.metadata.get(k) != new.metadata.get(k))


def _paired(
    old_store: ReceiptStore, old: Node, new_store: ReceiptStore, new: Node
) -> Iterator[tuple[str, str, str]]:
    """(type, old child, new child): equal ids first, then by order within their type."""
    left = _by_type(old_store, [c for c in old.children if c not in new.children])
    right = _by_type(new_store, [c for c in new.children if c not in old.children])
    for kind in sorted(left.keys() | right.keys()):
        a, b = left.get(kind, []), right.get(kind, [])
        for place in range(max(len(a), len(b))):
            yield kind, a[place] if place < len(a) else "", b[place] if place < len(b) else ""


def _by_type(store: ReceiptStore, children: list[str]) -> dict[str, list[str]]:
    rows: dict[str, list[str]] = {}
    for child in children:
        rows.setdefault(store.get(child).type, []).append(child)
    return rows
