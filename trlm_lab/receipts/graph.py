"""Walks over the receipt graph."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from trlm_lab.base.records import Node
from trlm_lab.receipts.store import ReceiptStore


def walk(store: ReceiptStore, root: str) -> Iterator[tuple[str, Node]]:
    """Every node reachable from `root` once, parents before children."""
    return walk_with(store.get, root)


def walk_with(get: Callable[[str], Node], root: str) -> Iterator[tuple[str, Node]]:
    """As `walk`, over nodes from wherever `get` has them."""
    seen: set[str] = set()
    pending = [root]
    while pending:
        node_id = pending.pop()
        if node_id in seen:
            continue
        seen.add(node_id)
        node = get(node_id)
        yield node_id, node
        pending.extend(reversed(node.children))


def ancestors(store: ReceiptStore, node_id: str) -> set[str]:
    """Ids of the nodes that `node_id` rests on: everything reachable from it, itself left out."""
    return {i for i, _ in walk(store, node_id)} - {node_id}


def render_graph(store: ReceiptStore, root: str, *, limit: int = 8) -> str:
    """The tree under `root` as indented text; a node already shown is marked, `case` and `file`
    nodes beyond `limit` under one parent are counted instead of listed."""
    lines: list[str] = []
    seen: set[str] = set()
    # Rows still to come, last first: (depth, node id), or a text in place of the id.
    pending: list[tuple[int, str]] = [(0, root)]
    while pending:
        depth, node_id = pending.pop()
        if node_id.startswith("…"):
            lines.append(f"{'  ' * depth}{node_id}")
            continue
        node = store.get(node_id)
        again = node_id in seen and bool(node.children)
        lines.append(f"{'  ' * depth}{node.type} {node_id[:12]}{' (shown above)' if again else ''}")
        if not again:
            seen.add(node_id)
            pending.extend((depth + 1, row) for row in reversed(_rows(store, node, limit)))
    return "\n".join(lines)


def _rows(store: ReceiptStore, node: Node, limit: int) -> list[str]:
    """Children to show, and how many leaves are left out."""
    rows, leaves = [], 0
    for child in node.children:
        leaf = store.get(child).type in ("case", "file")
        leaves += leaf
        if not leaf or leaves <= limit:
            rows.append(child)
    return [*rows, f"… {leaves - limit} more"] if leaves > limit else rows
