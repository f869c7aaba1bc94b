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
    figure, axes = blank(7.6, 3.8)
    rows: list[dict[str, Any]] = []
    readings: list[str] = []
    width = 0.8 / max(1, len(counts))
    labels: list[str] = []
    for number, (series, bins) in enumerate(counts.items()):
        labels = [label for label, _ in bins]
        total = sum(count for _, count in bins) or 1
        shares = [100 * count / total for _, count in bins]
        readings.append(_reading(series, bins))
        rows += [{"series": series, "ulp": b, "count": c} for b, c in bins]
        places = [i + (number - (len(counts) - 1) / 2) * width for i in range(len(bins))]
        axes.bar(places, shares, width, color=COLOURS[number % len(COLOURS)], label=series)
    axes.set_xticks(range(len(labels)), labels, fontsize=8.5)
    axes.set_xlabel(
        "distance in float32 steps (ULP); a label is the lower end of its bin", fontsize=9
    )
    axes.set_ylabel("% of elements", fontsize=9)
    axes.grid(axis="y", color=PALE, linewidth=0.6)
    axes.set_axisbelow(True)
    axes.legend(frameon=False, fontsize=8.5)
    title(axes, "How far apart, in float32 steps", "engine against the torch oracle, all cases")
    return PlotResult(name, figure, rows, " ".join(readings))


def _reading(series: str, bins: Sequence[tuple[str, int]]) -> str:
    """Where the median and the far tail lie; near zero a few units are many steps."""
    total = sum(count for _, count in bins)
    if not total:
        return f"{series}: nothing was compared."
    seen, median = 0, bins[0][0]
    for label, count in bins:
        seen += count
        if 2 * seen >= total:
            median = label
            break
    last, tail = bins[-1]
    same = bins[0][1] / total
    return (
        f"{series}: {same:.1%} of the elements have the same bits, the median is in the bin "
        f"{median}, {tail / total:.1%} are {last} steps apart."
    )
