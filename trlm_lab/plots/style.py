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
SOFT = "#555555"
PALE = "#DDDDDD"


def blank(width: float, height: float) -> tuple[Figure, Axes]:
    """A figure with one pair of axes, sizes in inches; no global state is touched."""
    figure, panels = grid(width, height, 1, 1)
    return figure, panels[0]


def grid(width: float, height: float, rows: int, columns: int) -> tuple[Figure, list[Axes]]:
    """A figure with rows times columns of axes, in reading order."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    panels = [figure.add_subplot(rows, columns, i + 1) for i in range(rows * columns)]
    for axes in panels:
        for side in ("top", "right"):
            axes.spines[side].set_visible(False)
        axes.tick_params(labelsize=8.5, color=SOFT)
    return figure, panels


def title(axes: Axes, text: str, sub: str = "") -> None:
    """A left-aligned title with a smaller line below it."""
    axes.set_title(
        text, loc="left", fontsize=11, fontweight="bold", color=INK, pad=22 if sub else 8
    )
    if sub:
        axes.text(0, 1.015, sub, transform=axes.transAxes, fontsize=8.5, color=SOFT, va="bottom")


def whole_ticks(axes: Axes) -> None:
    """Marks at whole numbers only: there is no layer 2.5."""
    from matplotlib.ticker import MaxNLocator

    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
