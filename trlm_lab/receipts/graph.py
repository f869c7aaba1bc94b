"""Walks over the receipt graph."""

from __future__ import annotations

from collections.abc import Iterator

from trlm_lab.base.records import Node
from trlm_lab.receipts.store import ReceiptStore


def walk(store: ReceiptStore, root: str) -> Iterator[tuple[str, Node]]:
    """Every node reachable from `root` once, parents before children."""
    seen: set[str] = set()
    pending = [root]
    while pending:
        node_id = pending.pop()
        if node_id in seen:
            continue
        seen.add(node_id)
        node = store.get(node_id)
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

    def show(node_id: str, depth: int) -> None:
        node = store.get(node_id)
        again = node_id in seen and bool(node.children)
        lines.append(f"{'  ' * depth}{node.type} {node_id[:12]}{' (shown above)' if again else ''}")
        if again:
            return
        seen.add(node_id)
        shown = 0
        for child in node.children:
            leaf = store.get(child).type in ("case", "file")
            shown += leaf
            if not leaf or shown <= limit:
                show(child, depth + 1)
        if shown > limit:
            lines.append(f"{'  ' * (depth + 1)}… {shown - limit} more")

    show(root, 0)
    return "\n".join(lines)
