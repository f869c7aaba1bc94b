"""The quantization ladder in pictures: one element's way, a tensor's errors, what a model feels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trlm_lab.plots.result import PlotResult
from trlm_lab.plots.style import COLOURS, INK, MARKERS, PALE, SOFT, blank, grid, title, whole_ticks

Row = dict[str, Any]


def element_waterfall(
    steps: Sequence[Row],
    rungs: Sequence[Row],
    *,
    name: str = "element_waterfall",
    subject: str = "",
) -> PlotResult:
    """Left: from the source's weight to the dequantized one, a bar a step, in steps of the scale.

    `steps` have the keys step and value (in units of the group's scale), the first being the
    weight itself. Right: how far each upper rung is from the source's, `rungs` with the keys rung
    and relative.
    """
    figure, (left, right) = grid(10.4, 4.6, 1, 2)
    _bars(left, steps)
    shown = [row for row in rungs if row["relative"] > 0]
    places = range(len(shown))
    right.barh(places, [row["relative"] for row in shown], color=COLOURS[0], height=0.6)
    right.set_yticks(places, [row["rung"] for row in shown], fontsize=8.5)
    right.invert_yaxis()
    right.set_xscale("log")
    for place, row in zip(places, shown, strict=True):
        right.text(row["relative"] * 1.08, place, f"{row['relative']:.1e}", fontsize=8,
                   va="center", color=SOFT)  # fmt: skip
    if shown:
        high = max(row["relative"] for row in shown)
        right.set_xlim(min(row["relative"] for row in shown) / 3, high * 6)
    right.set_xlabel("RMS distance from the source's, relative", fontsize=9)
    title(left, "One weight", subject)
    title(right, "What becomes of it", "every rung, beside the source's own weights")
    table = [{"part": "weight", "name": r["step"], "value": r["value"]} for r in steps]
    table += [{"part": "rung", "name": r["rung"], "value": r["relative"]} for r in rungs]
    return PlotResult(name, figure, table, _waterfall_read(steps, shown))


def _bars(axes: Any, steps: Sequence[Row]) -> None:
    """Bars from the value before to the value behind each step; levels at both ends."""
    values = [row["value"] for row in steps]
    spread = max(values) - min(values) or 1.0
    for place, row in enumerate(steps):
        before = values[place - 1] if place else values[0]
        gap = row["value"] - before
        colour = COLOURS[1] if gap > 0 else COLOURS[0]
        axes.bar(place, gap, bottom=before, color=colour, width=0.55)
        axes.plot([place - 0.42, place + 0.42], [row["value"]] * 2, color=INK, linewidth=1.4)
        if place:
            axes.plot([place - 0.58, place - 0.42], [before] * 2, color=SOFT, linewidth=0.8)
        words = f"{row['value']:.4f}" if not place else f"{gap:+.2g}" if gap else "0"
        axes.text(place, max(before, row["value"]) + 0.035 * spread, words, ha="center",
                  fontsize=8, color=SOFT)  # fmt: skip
    axes.set_xticks(range(len(steps)), [row["step"] for row in steps], fontsize=8.5)
    axes.set_xlim(-0.6, len(steps) - 0.4)
    axes.set_ylim(min(values) - 0.12 * spread, max(values) + 0.16 * spread)
    axes.set_ylabel("steps of the group's scale", fontsize=9)
    axes.set_axisbelow(True)
    axes.grid(axis="y", color=PALE, linewidth=0.5)


def _waterfall_read(steps: Sequence[Row], rungs: Sequence[Row]) -> str:
    gap = steps[-1]["value"] - steps[0]["value"]
    words = f"The stored weight is {gap:+.3f} steps from the source's."
    if rungs:
        last = rungs[-1]
        words += f" The {last['rung']} are {100 * last['relative']:.2g} % from the source's."
    return words


def error_maps(
    source: NDArray[Any],
    steps: NDArray[Any],
    by_group: NDArray[Any],
    *,
    name: str = "error_maps",
    subject: str = "",
) -> PlotResult:
    """The weights, each error in steps of its scale, and the RMS error of each group.

    `source` and `steps` are (rows, columns), `by_group` (rows, groups) relative to the group's RMS.
    """
    figure, (first, second, third) = grid(11.4, 4.2, 1, 3)
    reach = float(np.abs(source).max()) or 1.0
    panels: tuple[tuple[Any, NDArray[Any], dict[str, Any], str], ...] = (
        (first, source, {"cmap": "RdBu_r", "vmin": -reach, "vmax": reach}, "weights"),
        (second, steps, {"cmap": "RdBu_r", "vmin": -0.5, "vmax": 0.5}, "error, in steps"),
        (third, by_group, {"cmap": "cividis"}, "RMS error / RMS of the group"),
    )
    for axes, values, options, words in panels:
        image = axes.imshow(values, aspect="auto", interpolation="nearest", **options)
        figure.colorbar(image, ax=axes, pad=0.02, fraction=0.06).ax.tick_params(labelsize=8)
        axes.set_title(words, loc="left", fontsize=9.5, fontweight="bold", color=INK)
        axes.set_xlabel("group" if axes is third else "column", fontsize=9)
    whole_ticks(third)
    first.set_ylabel("row", fontsize=9)
    figure.suptitle(subject, x=0.01, ha="left", fontsize=11, fontweight="bold", color=INK)
    row, group = (int(i) for i in np.unravel_index(by_group.argmax(), by_group.shape))
    table = [
        {"figure": "largest error in steps", "value": float(np.abs(steps).max())},
        {"figure": "mean relative error of a group", "value": float(by_group.mean())},
        {"figure": "worst relative error of a group", "value": float(by_group.max())},
    ]
    words = (
        f"The worst group is number {group} of row {row}, {100 * by_group.max():.2g} % off; the "
        f"mean group {100 * by_group.mean():.2g} %. No weight is more than "
        f"{np.abs(steps).max():.3f} steps off."
    )
    return PlotResult(name, figure, table, words)


def sensitivity_bars(
    rows: Sequence[Row], *, name: str = "sensitivity", subject: str = "", most: int = 24
) -> PlotResult:
    """KL of the logits where one tensor alone is quantized; the largest first.

    `rows` have the keys tensor, KL and weight_error.
    """
    shown = sorted(rows, key=lambda row: -row["KL"])[:most]
    figure, axes = blank(8.6, 1.3 + 0.24 * len(shown))
    places = range(len(shown))
    axes.barh(places, [row["KL"] for row in shown], color=COLOURS[0], height=0.66)
    axes.set_yticks(places, [row["tensor"] for row in shown], fontsize=8)
    axes.invert_yaxis()
    axes.set_xlabel("mean KL of the logits, nats", fontsize=9)
    axes.set_axisbelow(True)
    axes.margins(y=0.01)
    axes.grid(axis="x", color=PALE, linewidth=0.5)
    title(axes, "One tensor quantized, all others as they are", subject)
    top, rest = shown[0], sum(row["KL"] for row in rows)
    words = (
        f"The model feels {top['tensor']} most: KL {top['KL']:.2g} nats, "
        f"{100 * top['KL'] / rest if rest else 0:.0f} % of the sum over {len(rows)} tensors."
    )
    return PlotResult(name, figure, list(rows), words)


def bits_against(
    rows: Sequence[Row],
    *,
    error: str = "weight_error",
    name: str = "bits_against",
    subject: str = "",
) -> PlotResult:
    """Bits a weight, scales and padding included, against an error; one point a profile.

    `rows` have the keys profile, format, bits and `error`; the formats are told apart.
    """
    figure, axes = blank(8.2, 4.6)
    lossy = [row for row in rows if row[error] > 0]
    for number, form in enumerate(dict.fromkeys(row["format"] for row in lossy)):
        mine = [row for row in lossy if row["format"] == form]
        axes.plot([r["bits"] for r in mine], [r[error] for r in mine], linestyle="none",
                  markersize=6, label=form, color=COLOURS[number % 6],
                  marker=MARKERS[number % 6])  # fmt: skip
    for at, names in _labels(lossy, error).items():
        axes.annotate(names, at, fontsize=7, color=SOFT, xytext=(6, 2), textcoords="offset points")
    axes.set_yscale("log")
    axes.set_xlabel("bits a weight, scales and padding included", fontsize=9)
    axes.set_ylabel(_ERRORS.get(error, error), fontsize=9)
    axes.grid(color=PALE, linewidth=0.5)
    axes.margins(x=0.12)
    if lossy:
        axes.legend(frameon=False, fontsize=8.5)
    title(axes, "Bits against error", subject)
    return PlotResult(name, figure, list(rows), _bits_read(rows, error))


def _labels(rows: Sequence[Row], error: str) -> dict[tuple[float, float], str]:
    """Names of profiles by place; those that lie on each other share one label."""
    found: dict[tuple[float, float], str] = {}
    for row in sorted(rows, key=lambda r: (r["bits"], r[error])):
        own = row["profile"].removeprefix(row["format"]).strip("-")
        near = [at for at in found if abs(at[0] - row["bits"]) < 0.05
                and abs(np.log10(at[1] / row[error])) < 0.06]  # fmt: skip
        at = near[0] if near else (row["bits"], row[error])
        found[at] = ", ".join(filter(None, (found.get(at, ""), own)))
    return found


_ERRORS = {"weight_error": "RMS error of the weights, relative", "KL": "mean KL, nats"}


def _bits_read(rows: Sequence[Row], error: str) -> str:
    lossy = [row for row in rows if row[error] > 0]
    if not lossy:
        return "No profile loses anything."
    small, best = min(lossy, key=lambda r: r["bits"]), min(lossy, key=lambda r: r[error])
    return (
        f"From {small['profile']} at {small['bits']:.2f} bits ({small[error]:.2g}) to "
        f"{best['profile']} at {best['bits']:.2f} bits ({best[error]:.2g})."
    )
