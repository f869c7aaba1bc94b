"""Layer by operator: how much of its limit every checkpoint uses."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from trlm_lab.base.names import LAYER_CHECKPOINTS, is_checkpoint, parse_checkpoint
from trlm_lab.base.records import Comparison, Outcome
from trlm_lab.plots.result import PlotResult
from trlm_lab.plots.style import INK, SOFT, blank, title

#: Ratios at or below this are drawn as this; bit-equal checkpoints are drawn apart.
SMALLEST = 1e-3


def heatmap_rows(comparison: Comparison) -> list[dict[str, Any]]:
    """Rows (layer, op, ratio, outcome): the largest error/limit over all cases."""
    best: dict[tuple[int, str], tuple[float, Outcome]] = {}
    for case in comparison.cases:
        for point in case.checkpoints:
            if not is_checkpoint(point.checkpoint):
                continue
            parsed = parse_checkpoint(point.checkpoint)
            if parsed.layer is None or point.metrics is None:
                continue
            ratio = _ratio(point.metrics.max_abs, point.limit, point.metrics.bit_equal)
            if point.outcome is Outcome.NONFINITE:
                ratio = math.inf
            key = (parsed.layer, parsed.op)
            if key not in best or ratio > best[key][0]:
                best[key] = (ratio, point.outcome)
    return [
        {"layer": layer, "op": op, "ratio": ratio, "outcome": outcome.value}
        for (layer, op), (ratio, outcome) in sorted(best.items())
    ]


def _ratio(error: float, limit: float | None, bit_equal: bool) -> float:
    if bit_equal or error == 0.0:
        return 0.0
    return error / limit if limit else math.inf


def layer_operator_heatmap(
    comparison: Comparison, *, name: str = "heatmap", subject: str = ""
) -> PlotResult:
    """Colour: log10 of error over limit, from 1e-3 to 10; beyond the limit a cell is marked."""
    from matplotlib.colors import TwoSlopeNorm

    rows = heatmap_rows(comparison)
    layers = sorted({r["layer"] for r in rows})
    ops = [op for op in LAYER_CHECKPOINTS if any(r["op"] == op for r in rows)]
    grid = np.full((len(ops), len(layers)), np.nan)
    for row in rows:
        clipped = min(max(row["ratio"], SMALLEST), 10.0)
        grid[ops.index(row["op"]), layers.index(row["layer"])] = math.log10(clipped)
    figure, axes = blank(max(5.2, 2.2 + 0.24 * len(layers)), 1.4 + 0.23 * len(ops))
    # White is the limit itself: below it blue, beyond it red.
    norm = TwoSlopeNorm(vcenter=0.0, vmin=-3.0, vmax=1.0)
    image = axes.imshow(grid, aspect="auto", cmap="RdBu_r", norm=norm)
    axes.set_xticks(range(0, len(layers), max(1, len(layers) // 10)))
    axes.set_yticks(range(len(ops)), ops, fontsize=8)
    axes.set_xlabel("layer", fontsize=9)
    axes.set_ylabel("checkpoint, first to last", fontsize=9, color=SOFT)
    _mark(axes, rows, layers, ops)
    bar = figure.colorbar(image, ax=axes, ticks=[-3, -2, -1, 0, 1], pad=0.01)
    bar.ax.set_yticklabels(["≤ 0.001", "0.01", "0.1", "limit", "≥ 10"], fontsize=8)
    bar.set_label("error / limit, largest over all cases", fontsize=8.5)
    beyond = sum(r["ratio"] > 1.0 for r in rows)
    sub = f"{beyond} of {len(rows)} beyond the limit (×); ○ is the nearest to it"
    title(axes, f"Layer × operator {subject}".strip(), sub)
    return PlotResult(name, figure, rows, _reading(rows))


def _mark(axes: Any, rows: list[dict[str, Any]], layers: list[int], ops: list[str]) -> None:
    """A cross on every cell beyond its limit, a ring on the one nearest below, a line per half."""
    for row in rows:
        if row["ratio"] > 1.0:
            x, y = layers.index(row["layer"]), ops.index(row["op"])
            axes.text(x, y, "×", ha="center", va="center", fontsize=8, color="black")
    below = [r for r in rows if 0.0 < r["ratio"] <= 1.0]
    if below:
        top = max(below, key=lambda r: r["ratio"])
        x, y = layers.index(top["layer"]), ops.index(top["op"])
        axes.plot(x, y, "o", markersize=7, markerfacecolor="none", markeredgecolor=INK)
    if "mlp_norm" in ops:
        axes.axhline(ops.index("mlp_norm") - 0.5, color=INK, linewidth=0.6)


def _reading(rows: list[dict[str, Any]]) -> str:
    if not rows:
        return "No checkpoint was compared."
    top = max(rows, key=lambda r: r["ratio"])
    beyond = sum(r["ratio"] > 1.0 for r in rows)
    median = sorted(r["ratio"] for r in rows)[len(rows) // 2]
    words = f"{beyond} of {len(rows)} cells are beyond the limit" if beyond else "No cell is red"
    return (
        f"{words}. layers.{top['layer']}.{top['op']} uses most of its limit, {top['ratio']:.0%}; "
        f"the median cell uses {median:.0%}."
    )
