"""The receipt graph, layered from the root down; many nodes of a type under one are one box."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from trlm_lab.plots.result import PlotResult
from trlm_lab.plots.style import COLOURS, INK, blank

#: Colour by the kind of evidence.
_FAMILIES: dict[str, str] = {
    **dict.fromkeys(["source_tree", "file", "acquisition", "provenance", "licence"], COLOURS[2]),
    **dict.fromkeys(["source_defaults", "effective_config", "ledger", "quant_profile"], COLOURS[4]),
    **dict.fromkeys(["artifact", "inspection"], COLOURS[0]),
    **dict.fromkeys(["oracle_run", "environment", "trace", "case"], COLOURS[5]),
    **dict.fromkeys(["comparison", "tolerance_policy", "mismatch", "fault_run"], COLOURS[1]),
}


def receipt_graph(
    levels: Sequence[Sequence[Mapping[str, Any]]],
    edges: Sequence[tuple[str, str]],
    *,
    name: str = "receipt_graph",
) -> PlotResult:
    """Draw boxes level by level; a box has the keys key, type, label."""
    widest = max(len(level) for level in levels)
    figure, axes = blank(max(8.0, 1.3 * widest), 0.8 * len(levels) + 0.4)
    places: dict[str, tuple[float, float]] = {}
    for depth, level in enumerate(levels):
        for number, box in enumerate(level):
            places[box["key"]] = ((number + 0.5) / len(level) * widest, -float(depth))
    for parent, child in edges:
        (x0, y0), (x1, y1) = places[parent], places[child]
        axes.plot([x0, x1], [y0 - 0.18, y1 + 0.18], color="#BBBBBB", linewidth=0.7, zorder=1)
    for level in levels:
        for box in level:
            _box(axes, places[box["key"]], box)
    axes.set_xlim(0, widest)
    axes.set_ylim(-len(levels) + 0.5, 0.5)
    axes.set_axis_off()
    rows = [{"type": b["type"], "label": b["label"]} for level in levels for b in level]
    return PlotResult(name, figure, rows)


def _box(axes: Any, place: tuple[float, float], box: Mapping[str, Any]) -> None:
    colour = _FAMILIES.get(box["type"], "#666666")
    axes.text(
        *place,
        box["label"],
        ha="center",
        va="center",
        fontsize=8.5,
        color=INK,
        zorder=2,
        bbox={"boxstyle": "round,pad=0.35", "facecolor": "white", "edgecolor": colour, "lw": 1.3},
    )
