"""Layer by operator: how much of its limit every checkpoint uses."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from trlm_lab.base.names import LAYER_CHECKPOINTS, is_checkpoint, parse_checkpoint
from trlm_lab.base.records import Comparison, Outcome
from trlm_lab.plots.result import PlotResult
from trlm_lab.plots.style import blank, title

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
    figure, axes = blank(max(4.6, 1.9 + 0.22 * len(layers)), 1.3 + 0.22 * len(ops))
    # White is the limit itself: below it blue, beyond it red.
    norm = TwoSlopeNorm(vcenter=0.0, vmin=-3.0, vmax=1.0)
    image = axes.imshow(grid, aspect="auto", cmap="RdBu_r", norm=norm)
    axes.set_xticks(range(0, len(layers), max(1, len(layers) // 10)))
    axes.set_yticks(range(len(ops)), ops, fontsize=7.5)
    axes.set_xlabel("layer")
    for row in rows:
        if row["ratio"] > 1.0:
            x, y = layers.index(row["layer"]), ops.index(row["op"])
            axes.text(x, y, "×", ha="center", va="center", fontsize=8, color="black")
    bar = figure.colorbar(image, ax=axes, ticks=[-3, -2, -1, 0, 1], pad=0.01)
    bar.ax.set_yticklabels(["≤ 0.001", "0.01", "0.1", "limit", "≥ 10"], fontsize=7.5)
    bar.set_label("error / limit", fontsize=8)
    beyond = sum(r["ratio"] > 1.0 for r in rows)
    title(
        axes, f"Layer × operator {subject}".strip(), f"{beyond} of {len(rows)} beyond the limit (×)"
    )
    return PlotResult(name, figure, rows)
