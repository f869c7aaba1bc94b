"""The ladder of one case: how large every checkpoint is, and one layer as pictures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trlm_lab.base.names import parse_checkpoint
from trlm_lab.plots.result import PlotResult
from trlm_lab.plots.style import COLOURS, INK, PALE, SOFT, blank, grid, title

F32 = NDArray[np.float32]


def ladder_walk(
    rows: Sequence[Mapping[str, Any]], *, name: str = "ladder_walk", subject: str = ""
) -> PlotResult:
    """Root mean square and largest magnitude of every checkpoint, in ladder order.

    `rows` have checkpoint, rms, min, max. Logarithmic; grey lines stand where a layer begins, and
    squares mark the residual stream as it leaves each layer.
    """
    figure, axes = blank(9.6, 4.2)
    places = np.arange(len(rows))
    peaks = [max(abs(row["min"]), abs(row["max"])) for row in rows]
    axes.plot(places, [row["rms"] for row in rows], color=COLOURS[0], linewidth=1.3, label="RMS")
    axes.plot(places, peaks, color=COLOURS[1], linewidth=1.0, linestyle="--", label="largest |x|")
    leaving = [i for i, row in enumerate(rows) if row["checkpoint"].endswith(".output")]
    axes.plot(leaving, [rows[i]["rms"] for i in leaving], "s", color=COLOURS[0], markersize=4.5,
              label="residual stream leaving a layer")  # fmt: skip
    axes.set_yscale("log")
    axes.set_ylabel("magnitude", fontsize=9)
    layer_ticks(axes, [row["checkpoint"] for row in rows])
    axes.legend(frameon=False, fontsize=8.5, loc="upper left", bbox_to_anchor=(1.0, 1.0))
    title(axes, f"The ladder, {subject}".strip(" ,"), "masked scores are left out")
    return PlotResult(name, figure, [dict(row) for row in rows], _walk_read(rows, peaks))


def layer_ticks(axes: Any, names: Sequence[str]) -> None:
    """A line and a number where each layer begins; at most about a dozen numbers."""
    starts = {parse_checkpoint(n).layer: i for i, n in reversed(list(enumerate(names)))}
    begins = sorted((i, layer) for layer, i in starts.items() if layer is not None)
    for place, _ in begins:
        axes.axvline(place, color=PALE, linewidth=0.7, zorder=0)
    step = max(1, len(begins) // 12)
    shown = begins[::step]
    axes.set_xticks([place for place, _ in shown], [f"{layer}" for _, layer in shown])
    axes.set_xlabel("layer, and inside it the checkpoints in ladder order", fontsize=9)
    axes.set_xlim(-1, len(names))


def _walk_read(rows: Sequence[Mapping[str, Any]], peaks: Sequence[float]) -> str:
    top = int(np.argmax(peaks))
    leaving = [row for row in rows if row["checkpoint"].endswith(".output")]
    return (
        f"{len(rows)} checkpoints. The largest magnitude, {peaks[top]:.3g}, stands in "
        f"{rows[top]['checkpoint']}. The residual stream leaves the first layer with an RMS of "
        f"{leaving[0]['rms']:.3g} and the last with {leaving[-1]['rms']:.3g}."
    )


def layer_pictures(
    pictures: Mapping[str, F32],
    *,
    name: str = "layer_pictures",
    subject: str = "",
    columns: int = 5,
) -> PlotResult:
    """Every checkpoint of a layer as a matrix: rows are tokens or queries.

    Each panel has a colour scale of its own, symmetric around zero; hidden entries (NaN) are grey.
    """
    from matplotlib import colormaps

    lines = -(-len(pictures) // columns)
    figure, panels = grid(9.6, 1.55 * lines + 0.7, lines, columns)
    colours = colormaps["RdBu_r"].with_extremes(bad="#CCCCCC")
    table = []
    for axes, (op, values) in zip(panels, pictures.items(), strict=False):
        top = float(np.nanmax(np.abs(values))) or 1.0
        axes.imshow(values, cmap=colours, vmin=-top, vmax=top, aspect="auto",
                    interpolation="nearest")  # fmt: skip
        axes.set_title(f"{op}  ±{top:.2g}", loc="left", fontsize=8, color=INK)
        axes.set_xticks([])
        axes.set_yticks([])
        hidden = int(np.isnan(values).sum())
        table.append({"operator": op, "rows": values.shape[0], "columns": values.shape[1],
                      "largest": top, "hidden": hidden})  # fmt: skip
    for axes in panels[len(pictures) :]:
        axes.set_visible(False)
    figure.suptitle(f"One layer, {subject}".strip(" ,"), x=0.01, ha="left", fontsize=11,
                    fontweight="bold", color=INK)  # fmt: skip
    figure.supxlabel("coordinate or key", fontsize=8.5, color=SOFT)
    figure.supylabel("token or query", fontsize=8.5, color=SOFT)
    return PlotResult(name, figure, table, _pictures_read(table))


def _pictures_read(table: Sequence[Mapping[str, Any]]) -> str:
    top = max(table, key=lambda row: row["largest"])
    hidden = {row["operator"]: row["hidden"] for row in table if row["hidden"]}
    said = ", ".join(f"{count} entries of {op}" for op, count in hidden.items()) or "nothing"
    return f"The largest value, {top['largest']:.3g}, is in {top['operator']}; hidden is {said}."
