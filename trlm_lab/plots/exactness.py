"""Engines against each other: how many checkpoints have the same SHA-256."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from trlm_lab.plots.result import PlotResult
from trlm_lab.plots.style import blank, title


def exactness_matrix(
    rows: Sequence[dict[str, Any]], *, name: str = "exactness", profile: str = "scalar-f32-v1"
) -> PlotResult:
    """One cell per engine and artifact: equal checkpoints of all; green where all are.

    `rows` have the keys engine, artifact, equal, total.
    """
    engines = list(dict.fromkeys(r["engine"] for r in rows))
    artifacts = list(dict.fromkeys(r["artifact"] for r in rows))
    figure, axes = blank(2.6 + 1.9 * len(artifacts), 1.2 + 0.42 * len(engines))
    for row in rows:
        x, y = artifacts.index(row["artifact"]), engines.index(row["engine"])
        whole = row["equal"] == row["total"]
        colour = "#BFE3D0" if whole else "#F3C1A8"
        axes.add_patch(_cell(x, y, colour))
        text = f"{row['equal']:,} of {row['total']:,}"
        axes.text(x, y, text, ha="center", va="center", fontsize=8.5)
    axes.set_xlim(-0.5, len(artifacts) - 0.5)
    axes.set_ylim(len(engines) - 0.5, -0.5)
    axes.set_xticks(range(len(artifacts)), artifacts)
    axes.set_yticks(range(len(engines)), engines, fontsize=8.5)
    axes.tick_params(length=0)
    for side in ("left", "bottom"):
        axes.spines[side].set_visible(False)
    title(axes, f"Same bits in {profile}", "arrays with the SHA-256 of the first engine")
    return PlotResult(name, figure, list(rows))


def _cell(x: int, y: int, colour: str) -> Any:
    from matplotlib.patches import Rectangle

    return Rectangle((x - 0.47, y - 0.44), 0.94, 0.88, facecolor=colour, edgecolor="none")
