"""The receipt graph, layered from the root down; nodes of one type on one level are one box."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from trlm_lab.plots.result import PlotResult
from trlm_lab.plots.style import COLOURS, INK, PALE, SOFT, blank, title

#: Family of evidence: its name, its colour, its node types.
_FAMILIES: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    ("source", COLOURS[2],
     ("source_tree", "file", "acquisition", "provenance", "licence", "drift")),
    ("meaning", COLOURS[4],
     ("source_defaults", "effective_config", "conflict", "resolution", "tokenizer_profile",
      "template_source", "template_ir")),
    ("artifact", COLOURS[0], ("ledger", "quant_profile", "artifact", "inspection")),
    ("observation", COLOURS[5],
     ("oracle_run", "environment", "trace", "case", "probe", "generation")),
    ("judgment", COLOURS[1],
     ("comparison", "tolerance_policy", "mismatch", "fault_run", "promotion", "report")),
)  # fmt: skip
_COLOUR = {kind: colour for _, colour, kinds in _FAMILIES for kind in kinds}
_OTHER = "#777777"

Places = dict[str, tuple[float, float]]


def receipt_graph(
    levels: Sequence[Sequence[Mapping[str, Any]]],
    edges: Sequence[tuple[str, str]],
    *,
    name: str = "receipt_graph",
) -> PlotResult:
    """Draw boxes level by level; a box has the keys key, type, label.

    `edges` are (parent, child). An edge that a longer path already implies is not drawn.
    """
    widest = max(len(level) for level in levels)
    figure, axes = blank(max(7.6, 1.55 * widest), 0.72 * len(levels) + 0.9)
    places = _places(levels, edges, float(widest))
    for parent, child in _needed(edges):
        _edge(axes, places[parent], places[child])
    for level in levels:
        for box in level:
            _box(axes, places[box["key"]], box)
    axes.set_xlim(-0.05, widest + 0.05)
    axes.set_ylim(-len(levels) + 0.45, 0.45)
    axes.set_axis_off()
    _legend(axes, {box["type"] for level in levels for box in level})
    title(axes, "What rests on what", "each box is addressed by its content and what it rests on")
    rows = [{"type": b["type"], "label": b["label"]} for level in levels for b in level]
    return PlotResult(name, figure, rows, _reading(rows, len(levels)))


def _needed(edges: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """The edges that no longer path implies (the graph has no cycles)."""
    children: dict[str, set[str]] = {}
    for parent, child in edges:
        children.setdefault(parent, set()).add(child)
    below: dict[str, set[str]] = {}

    def reach(node: str) -> set[str]:
        if node not in below:
            below[node] = set().union(*({c} | reach(c) for c in children.get(node, ())), set())
        return below[node]

    return [
        (parent, child)
        for parent, child in edges
        if not any(child in reach(other) for other in children[parent] - {child})
    ]


def _places(
    levels: Sequence[Sequence[Mapping[str, Any]]], edges: Sequence[tuple[str, str]], width: float
) -> Places:
    """Each level spread over the width, ordered by the mean place of the parents."""
    parents: dict[str, list[str]] = {}
    for parent, child in _needed(edges):
        parents.setdefault(child, []).append(parent)
    places: Places = {}
    for depth, level in enumerate(levels):
        keys = [box["key"] for box in level]

        def above(key: str) -> float:
            xs = [places[p][0] for p in parents.get(key, ()) if p in places]
            return sum(xs) / len(xs) if xs else width / 2

        keys.sort(key=above)
        for number, key in enumerate(keys):
            places[key] = ((number + 0.5) / len(keys) * width, -float(depth))
    return places


def _edge(axes: Any, start: tuple[float, float], end: tuple[float, float]) -> None:
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path

    (x0, y0), (x1, y1) = start, end
    points = [start, (x0, y0 - 0.7), (x1, y1 + 0.7), end]
    path = Path(points, [Path.MOVETO, Path.CURVE4, Path.CURVE4, Path.CURVE4])
    axes.add_patch(PathPatch(path, facecolor="none", edgecolor="#9A9A9A", linewidth=0.9, zorder=1))


def _box(axes: Any, place: tuple[float, float], box: Mapping[str, Any]) -> None:
    axes.text(
        *place,
        box["label"],
        ha="center",
        va="center",
        fontsize=8.5,
        color=INK,
        zorder=2,
        linespacing=1.25,
        bbox={
            "boxstyle": "round,pad=0.4",
            "facecolor": "white",
            "edgecolor": _COLOUR.get(box["type"], _OTHER),
            "lw": 1.6,
        },
    )


def _legend(axes: Any, types: set[str]) -> None:
    from matplotlib.patches import Patch

    handles = [
        Patch(facecolor="white", edgecolor=colour, linewidth=1.6, label=name)
        for name, colour, kinds in _FAMILIES
        if types & set(kinds)
    ]
    legend = axes.legend(
        handles=handles, loc="lower right", fontsize=8, frameon=True, edgecolor=PALE, title="kind"
    )
    legend.get_title().set_color(SOFT)
    legend.get_title().set_fontsize(8)


def _reading(rows: list[dict[str, Any]], levels: int) -> str:
    kinds = len({r["type"] for r in rows})
    head = rows[0]["type"].replace("_", " ")
    return (
        f"{kinds} kinds of evidence on {levels} levels, from the source's files at the foot to the "
        f"{head} at the head; whoever changes one byte below changes every address above it."
    )
