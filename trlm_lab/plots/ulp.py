"""Histogram of ULP distances."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from trlm_lab.plots.result import PlotResult
from trlm_lab.plots.style import COLOURS, PALE, blank, title


def ulp_histogram(
    counts: Mapping[str, Sequence[tuple[str, int]]], *, name: str = "ulp_histogram"
) -> PlotResult:
    """Share of elements by ULP distance; `counts` maps a series to (bin label, count) rows.

    All series have the same bins, in ascending distance.
    """
    figure, axes = blank(7.2, 3.6)
    rows: list[dict[str, Any]] = []
    width = 0.8 / max(1, len(counts))
    labels: list[str] = []
    for number, (series, bins) in enumerate(counts.items()):
        labels = [label for label, _ in bins]
        total = sum(count for _, count in bins) or 1
        shares = [count / total for _, count in bins]
        rows += [{"series": series, "ulp": b, "count": c} for b, c in bins]
        places = [i + (number - (len(counts) - 1) / 2) * width for i in range(len(bins))]
        axes.bar(places, shares, width, color=COLOURS[number % len(COLOURS)], label=series)
    axes.set_xticks(range(len(labels)), labels, fontsize=7.5)
    axes.set_xlabel("distance in float32 steps (ULP)")
    axes.set_ylabel("share of elements")
    axes.grid(axis="y", color=PALE, linewidth=0.6)
    axes.set_axisbelow(True)
    axes.legend(frameon=False, fontsize=8)
    title(axes, "How far apart, in float32 steps", "engine against the torch oracle, all cases")
    return PlotResult(name, figure, rows)
