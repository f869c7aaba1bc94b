"""Engines against each other: how many checkpoints have the same SHA-256."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from trlm_lab.plots.result import PlotResult
from trlm_lab.plots.style import SOFT, blank, title


def exactness_matrix(rows: Sequence[dict[str, Any]], *, name: str = "exactness") -> PlotResult:
    """One cell per engine and artifact: equal arrays of all; green where all are, ≠ where not.

    `rows` have the keys engine, profile, artifact, equal, total; the first engine of a profile is
    the one that its others are compared with.
    """
    profiles = list(dict.fromkeys(r["profile"] for r in rows))
    engines = list(dict.fromkeys(r["engine"] for r in rows))
    artifacts = list(dict.fromkeys(r["artifact"] for r in rows))
    figure, axes = blank(2.8 + 2.1 * len(artifacts), 1.3 + 0.44 * len(engines))
    for row in rows:
        x, y = artifacts.index(row["artifact"]), engines.index(row["engine"])
        whole = row["equal"] == row["total"]
        colour = "#CFE8DC" if whole else "#F3C1A8"
        axes.add_patch(_cell(x, y, colour))
        text = f"{row['equal']:,} of {row['total']:,}"
        axes.text(x, y, text, ha="center", va="center", fontsize=9)
        if not whole:
            # Not by colour alone.
            axes.text(x + 0.43, y, "≠", ha="right", va="center", fontsize=10, fontweight="bold")
    axes.set_xlim(-0.5, len(artifacts) - 0.5)
    axes.set_ylim(len(engines) - 0.5, -0.5)
    axes.set_xticks(range(len(artifacts)), artifacts, fontsize=9)
    axes.set_yticks(range(len(engines)), engines, fontsize=9)
    axes.set_xlabel("artifact", fontsize=9, color=SOFT)
    axes.tick_params(length=0)
    for side in ("left", "bottom"):
        axes.spines[side].set_visible(False)
    whose = engines[0] if len(profiles) == 1 else "the first of its profile"
    title(
        axes, f"Same bits in {' and '.join(profiles)}", f"arrays whose SHA-256 is that of {whose}"
    )
    return PlotResult(name, figure, list(rows), _reading(rows, len(engines)))


def _reading(rows: Sequence[dict[str, Any]], engines: int) -> str:
    parted = [r for r in rows if r["equal"] != r["total"]]
    if not parted:
        firsts = {(r["profile"], r["artifact"]): r["total"] for r in rows}
        total = sum(r["total"] for r in rows) - sum(firsts.values())
        return f"No array differs: {engines} engines, {total:,} comparisons of SHA-256."
    worst = max(parted, key=lambda r: r["total"] - r["equal"])
    return (
        f"{worst['engine']} differs on {worst['artifact']} in "
        f"{worst['total'] - worst['equal']:,} of {worst['total']:,} arrays."
    )


def _cell(x: int, y: int, colour: str) -> Any:
    from matplotlib.patches import Rectangle

    return Rectangle((x - 0.47, y - 0.44), 0.94, 0.88, facecolor=colour, edgecolor="none")
