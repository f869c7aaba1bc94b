"""The oracle's own noise floor: how far each checkpoint moved under each condition."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from trlm_lab.plots.ladder import layer_ticks
from trlm_lab.plots.result import PlotResult
from trlm_lab.plots.style import COLOURS, MARKERS, PALE, SOFT, blank, title

#: Half a step of float32 near one: what a single rounding may do.
UNIT = 2.0**-24


def noise_floor(
    rows: Sequence[Mapping[str, Any]],
    ladder: Sequence[str],
    conditions: Mapping[str, str],
    *,
    name: str = "noise_floor",
    subject: str = "",
) -> PlotResult:
    """Points of max |difference| / RMS by checkpoint, one mark a condition; logarithmic.

    `rows` have condition, checkpoint and relative, and only where a bit differs. `conditions` are
    all that were asked for, with the reason where one could not run, else empty.
    """
    figure, axes = blank(9.6, 4.2)
    places = {checkpoint: i for i, checkpoint in enumerate(ladder)}
    moved = [c for c in conditions if any(row["condition"] == c for row in rows)]
    for number, condition in enumerate(moved):
        mine = [row for row in rows if row["condition"] == condition]
        axes.plot([places[row["checkpoint"]] for row in mine], [row["relative"] for row in mine],
                  MARKERS[number % len(MARKERS)], color=COLOURS[number % len(COLOURS)],
                  markersize=4 + number, fillstyle="none", label=condition)  # fmt: skip
    axes.axhline(UNIT, color=SOFT, linewidth=0.9, linestyle=":", label="2⁻²⁴, one rounding")
    axes.set_yscale("log")
    if not moved:
        axes.set_ylim(UNIT / 10, UNIT * 100)
    axes.set_ylabel("max |difference| / RMS", fontsize=9)
    axes.grid(axis="y", color=PALE, linewidth=0.5)
    layer_ticks(axes, ladder)
    axes.legend(frameon=False, fontsize=8.5, loc="upper left", bbox_to_anchor=(1.0, 1.0))
    quiet = [c for c, reason in conditions.items() if c not in moved and not reason]
    sub = f"not one bit differs under: {', '.join(quiet)}" if quiet else ""
    title(axes, f"How far the oracle moves by itself, {subject}".strip(" ,"), sub)
    return PlotResult(name, figure, [dict(row) for row in rows], _reading(rows, quiet, conditions))


def _reading(
    rows: Sequence[Mapping[str, Any]], quiet: Sequence[str], conditions: Mapping[str, str]
) -> str:
    left = [c for c, reason in conditions.items() if reason]
    said = f" Not measured here: {', '.join(left)}." if left else ""
    if not rows:
        return f"Not one bit differs under {', '.join(quiet)}.{said}"
    top = max(rows, key=lambda row: row["relative"])
    return (
        f"{top['checkpoint']} moves the farthest, by {top['relative']:.2g} of its RMS under "
        f"{top['condition']}; no judgement of it can be finer.{said}"
    )
