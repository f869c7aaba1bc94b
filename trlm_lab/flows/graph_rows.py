"""The receipt graph as boxes and edges, for the figure."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from trlm_lab.flows.run import Run
    from trlm_lab.receipts import ReceiptStore

Boxes = list[list[dict[str, str]]]


def graph_levels(run: Run) -> tuple[Boxes, list[tuple[str, str]]]:
    """Boxes by level and edges of the run's receipt graph.

    A node stands one level below the lowest of its parents; nodes of one type on one level are
    one box.
    """
    from trlm_lab.flows.promotion import claims, promote

    return _levels(run.ws.store, [promote(run, claims(run))])


def custody_levels(run: Run) -> tuple[Boxes, list[tuple[str, str]]]:
    """The part of the graph below the run's artifacts, down to the files of the source."""
    return _levels(run.ws.store, [packed.nodes["artifact"] for packed in run.packed.values()])


def _levels(store: ReceiptStore, roots: list[str]) -> tuple[Boxes, list[tuple[str, str]]]:
    depth = _depths(store, roots)
    groups: dict[tuple[int, str], list[str]] = {}
    for node_id, level in depth.items():
        groups.setdefault((level, store.get(node_id).type), []).append(node_id)
    levels: Boxes = [[] for _ in range(max(depth.values()) + 1)]
    box_of: dict[str, str] = {}
    for (level, kind), members in groups.items():
        levels[level].append({"key": members[0], "type": kind, "label": _label(kind, members)})
        box_of |= dict.fromkeys(members, members[0])
    edges = {
        (box_of[node_id], box_of[child])
        for node_id in depth
        for child in store.get(node_id).children
    }
    return levels, sorted(edges)


def _depths(store: ReceiptStore, roots: list[str]) -> dict[str, int]:
    """The longest path from a root to every node."""
    depth: dict[str, int] = {}

    def visit(node_id: str, level: int) -> None:
        if level > depth.get(node_id, -1):
            depth[node_id] = level
            for child in store.get(node_id).children:
                visit(child, level + 1)

    for root in roots:
        visit(root, 0)
    return depth


def _label(kind: str, members: list[str]) -> str:
    words = kind.replace("_", " ")
    return f"{words}\n{members[0][:8]}" if len(members) == 1 else f"{len(members)} × {words}"
