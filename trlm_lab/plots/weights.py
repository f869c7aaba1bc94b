"""How large weights and channels are, by layer: what a quantizer and float32 have to carry."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from trlm_lab.plots.result import PlotResult
from trlm_lab.plots.style import COLOURS, INK, PALE, SOFT, blank, grid, title, whole_ticks


def weight_magnitudes(
    rows: Sequence[dict[str, Any]], *, name: str = "weight_magnitudes", subject: str = ""
) -> PlotResult:
    """One panel an operator: RMS, 0.999 quantile and maximum of |w| against the layer.

    `rows` have the keys layer, operator, rms, p999, max (see `flows.exploring.weight_rows`).
    """
    operators = list(dict.fromkeys(r["operator"] for r in rows))
    columns = 4
    figure, panels = grid(
        9.6, 2.2 * -(-len(operators) // columns), -(-len(operators) // columns), 4
    )
    for axes, operator in zip(panels, operators, strict=False):
        mine = [r for r in rows if r["operator"] == operator]
        _ranges(axes, mine)
        axes.set_title(operator, loc="left", fontsize=9.5, fontweight="bold", color=INK)
    low, high = min(r["rms"] for r in rows) / 1.5, max(r["max"] for r in rows) * 1.5
    for number, axes in enumerate(panels):
        axes.set_ylim(low, high)
        axes.set_visible(number < len(operators))
        if number % columns:
            axes.tick_params(labelleft=False)
    panels[0].set_ylabel("|weight|", fontsize=9)
    figure.supxlabel("layer", fontsize=9)
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, frameon=False, fontsize=8.5, loc="lower right")
    figure.suptitle(f"Weights by operator and layer, {subject}".strip(" ,"), x=0.01, ha="left",
                    fontsize=11, fontweight="bold", color=INK)  # fmt: skip
    return PlotResult(name, figure, list(rows), _weights_read(rows))


def _ranges(axes: Any, rows: Sequence[dict[str, Any]]) -> None:
    layers = [r["layer"] for r in rows]
    axes.fill_between(layers, [r["p999"] for r in rows], [r["max"] for r in rows],
                      color=COLOURS[1], alpha=0.12, lw=0)  # fmt: skip
    for key, words, colour, style in (
        ("max", "maximum", COLOURS[1], "-"),
        ("p999", "0.999 quantile", COLOURS[0], "-"),
        ("rms", "RMS", INK, "--"),
    ):
        values = [r[key] for r in rows]
        axes.plot(layers, values, color=colour, linestyle=style, linewidth=1.2, label=words)
    axes.set_yscale("log")
    whole_ticks(axes)
    axes.grid(axis="y", color=PALE, linewidth=0.5)


def _weights_read(rows: Sequence[dict[str, Any]]) -> str:
    top = max(rows, key=lambda r: r["max"] / r["rms"])
    return (
        f"The widest tensor is {top['operator']} of layer {top['layer']}: its maximum is "
        f"{top['max'] / top['rms']:.0f} times its RMS."
    )


def _channel_peak_read(rows: Sequence[dict[str, Any]]) -> str:
    peak = max(rows, key=lambda r: r["peak"])
    return (
        f"The most uneven input channel is number {peak['channel']} of {peak['operator']} in layer "
        f"{peak['layer']}, {peak['peak']:.1f} times the median channel."
    )


def uneven_channels(
    rows: Sequence[dict[str, Any]], *, name: str = "uneven_channels", subject: str = ""
) -> PlotResult:
    """Operator by layer: RMS of the largest input channel over the median one."""
    from matplotlib.colors import LogNorm

    operators = list(dict.fromkeys(r["operator"] for r in rows))
    layers = sorted({r["layer"] for r in rows})
    cells = np.full((len(operators), len(layers)), np.nan)
    for row in rows:
        cells[operators.index(row["operator"]), layers.index(row["layer"])] = row["peak"]
    figure, axes = blank(max(5.2, 2.2 + 0.24 * len(layers)), 1.5 + 0.26 * len(operators))
    top = max(2.0, float(np.nanmax(cells)))
    image = axes.imshow(cells, aspect="auto", cmap="cividis", norm=LogNorm(vmin=1.0, vmax=top))
    axes.set_yticks(range(len(operators)), operators, fontsize=8.5)
    axes.set_xticks(range(0, len(layers), max(1, len(layers) // 10)))
    axes.set_xlabel("layer", fontsize=9)
    bar = figure.colorbar(image, ax=axes, pad=0.01)
    marks = [m for m in (1, 1.5, 2, 3, 5, 10, 20, 50, 100) if m <= top]
    bar.set_ticks(marks, labels=[f"{m:g} ×" for m in marks])
    bar.ax.minorticks_off()
    bar.set_label("largest / median channel RMS", fontsize=8.5)
    title(
        axes,
        f"Outlier channels of the weights, {subject}".strip(" ,"),
        "an input channel is a column",
    )
    return PlotResult(name, figure, list(rows), _channel_peak_read(rows))


def outlier_channels(
    rows: Sequence[dict[str, Any]], *, name: str = "outlier_channels"
) -> PlotResult:
    """Residual stream: the largest, second, 0.99 and median channel magnitude, by layer.

    `rows` have the keys layer, channel, largest, second, p99, median.
    """
    figure, axes = blank(7.6, 3.9)
    layers = [r["layer"] for r in rows]
    for number, (key, words) in enumerate(
        (("largest", "largest channel"), ("second", "second largest"), ("p99", "0.99 quantile"),
         ("median", "median channel"))
    ):  # fmt: skip
        axes.plot(layers, [r[key] for r in rows], color=COLOURS[number], linewidth=1.5, label=words,
                  marker="o" if number == 0 else None, markersize=3.5)  # fmt: skip
    seen: int | None = None
    for row in rows:
        if row["channel"] != seen:
            place, text = (row["layer"], row["largest"]), f"#{row['channel']}"
            axes.annotate(
                text, place, fontsize=7.5, color=SOFT,
                xytext=(-7, 3), textcoords="offset points", ha="right",
            )  # fmt: skip
            seen = row["channel"]
    axes.set_xlim(left=min(layers) - 0.07 * max(layers) - 0.5)
    axes.set_yscale("log")
    whole_ticks(axes)
    axes.set_xlabel("layer", fontsize=9)
    axes.set_ylabel("max |residual| over tokens and cases", fontsize=9)
    axes.grid(axis="y", color=PALE, linewidth=0.6)
    axes.legend(frameon=False, fontsize=8.5, loc="upper left", bbox_to_anchor=(1.0, 1.0))
    title(
        axes,
        "Outlier channels of the residual stream",
        "# names the largest channel where it changes",
    )
    return PlotResult(name, figure, list(rows), _channels_read(rows))


def _channels_read(rows: Sequence[dict[str, Any]]) -> str:
    top = max(rows, key=lambda r: r["largest"] / r["median"])
    step = float(np.spacing(np.float32(top["largest"])))
    return (
        f"In layer {top['layer']} channel {top['channel']} reaches {top['largest']:.3g}, "
        f"{top['largest'] / top['median']:.0f} times the median channel; one float32 step there is "
        f"{step:.1g}, and no engine can be nearer to the truth than about that."
    )
