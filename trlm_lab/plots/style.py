"""One look for all figures: quiet axes, a palette that colour-blind readers can tell apart."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: Okabe and Ito's palette (jfly.uni-koeln.de/color), without the yellow that vanishes on white.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00")
MARKERS = ("o", "s", "^", "D", "v", "P")
INK = "#222222"
PALE = "#DDDDDD"


def blank(width: float, height: float) -> tuple[Figure, Axes]:
    """A figure with one pair of axes, sizes in inches; no global state is touched."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    return figure, axes


def title(axes: Axes, text: str, sub: str = "") -> None:
    """A left-aligned title with a smaller line below it."""
    axes.set_title(
        text, loc="left", fontsize=11, fontweight="bold", color=INK, pad=22 if sub else 8
    )
    if sub:
        axes.text(
            0, 1.015, sub, transform=axes.transAxes, fontsize=8.5, color="#555555", va="bottom"
        )
