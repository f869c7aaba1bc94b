"""Error of the residual stream against depth, with the frozen limit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from trlm_lab.base.names import is_checkpoint, parse_checkpoint
from trlm_lab.base.records import Comparison, TolerancePolicy
from trlm_lab.plots.result import PlotResult
from trlm_lab.plots.style import COLOURS, INK, MARKERS, PALE, SOFT, blank, title, whole_ticks


def depth_rows(
    series: Mapping[str, Comparison], op: str, *, relative: bool = False
) -> list[dict[str, Any]]:
    """Rows (series, layer, max_abs): the largest error of `op` over all cases, by layer."""
    worst: dict[tuple[str, int], float] = {}
    for name, comparison in series.items():
        for case in comparison.cases:
            for point in case.checkpoints:
                if not is_checkpoint(point.checkpoint):
                    continue
                parsed = parse_checkpoint(point.checkpoint)
                if parsed.op != op or parsed.layer is None or point.metrics is None:
                    continue
                key = (name, parsed.layer)
                scale = point.metrics.reference_rms if relative else 1.0
                worst[key] = max(worst.get(key, 0.0), point.metrics.max_abs / (scale or 1.0))
    return [{"series": n, "layer": i, "max_abs": v} for (n, i), v in sorted(worst.items())]


def error_by_depth(
    series: Mapping[str, Comparison],
    policy: TolerancePolicy | None = None,
    *,
    op: str = "output",
    name: str = "error_by_depth",
    heading: str = "Error against depth",
    relative: bool = False,
) -> PlotResult:
    """Largest |candidate - oracle| of checkpoint `op` per layer, one line a series.

    Grey: the policy's limit and, dashed and dotted, the noise of oracle and profile that it comes
    from. Logarithmic error axis; `relative` divides by the reference's RMS and takes no policy.
    """
    rows = depth_rows(series, op, relative=relative)
    figure, axes = blank(7.6, 4.1)
    # An engine that shows logits alone has no line, and takes no place in the legend.
    shown = dict.fromkeys(r["series"] for r in rows)
    for number, label in enumerate(label for label in series if label in shown):
        mine = [r for r in rows if r["series"] == label]
        axes.plot(
            [r["layer"] for r in mine],
            [r["max_abs"] for r in mine],
            color=COLOURS[number % len(COLOURS)],
            marker=MARKERS[number % len(MARKERS)],
            markersize=4,
            linewidth=1.5,
            label=label,
            zorder=3,
        )
    if policy is not None:
        _limits(axes, policy, op)
    axes.set_yscale("log")
    whole_ticks(axes)
    axes.set_xlabel("layer", fontsize=9)
    axes.set_ylabel(_UNIT[relative], fontsize=9)
    axes.grid(axis="y", color=PALE, linewidth=0.6)
    if policy is None:
        axes.legend(frameon=False, fontsize=8.5, loc="best")
        _plain_ticks(axes, rows)
    else:
        axes.legend(frameon=False, fontsize=8.5, loc="upper left", bbox_to_anchor=(1.0, 1.0))
    title(axes, heading, f"checkpoint {op}, largest over all cases, tokens and coordinates")
    return PlotResult(name, figure, rows, _reading(rows, policy, op, relative))


def _plain_ticks(axes: Any, rows: list[dict[str, Any]]) -> None:
    """Decimal labels where the errors span less than two decades and powers of ten say little."""
    from matplotlib.ticker import FuncFormatter, LogLocator

    values = [r["max_abs"] for r in rows if r["max_abs"] > 0]
    if values and max(values) < 100 * min(values):
        axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axes.yaxis.set_minor_formatter(FuncFormatter(lambda *_: ""))


#: Words of the error axis; the residual stream has no unit of its own.
_UNIT = {
    False: "max |engine − oracle|, residual stream",
    True: "max |difference| / RMS of the residual stream",
}


def _reading(
    rows: list[dict[str, Any]], policy: TolerancePolicy | None, op: str, relative: bool
) -> str:
    """How much of the limit is used at most, and where; or how large the error gets."""
    if not rows:
        return "No engine shows this checkpoint."
    top = max(rows, key=lambda r: r["max_abs"])
    unit = " of the RMS" if relative else ""
    said = (
        f"The error starts at {rows[0]['max_abs']:.2g}{unit} in layer {rows[0]['layer']} and is "
        f"largest, {top['max_abs']:.2g}{unit}, in layer {top['layer']} ({top['series']})."
    )
    entries = {} if policy is None else {parse_checkpoint(e.checkpoint): e for e in policy.entries}
    limits = {p.layer: e.limit for p, e in entries.items() if p.op == op and e.limit}
    shares = [(r["max_abs"] / limits[r["layer"]], r) for r in rows if r["layer"] in limits]
    if not shares:
        return said
    share, where = max(shares, key=lambda pair: pair[0])
    word = "beyond the limit" if share > 1 else "below the limit everywhere"
    return f"{said} At most {share:.0%} of a limit is used, in layer {where['layer']}: {word}."


def _limits(axes: Any, policy: TolerancePolicy, op: str) -> None:
    entries = [(parse_checkpoint(e.checkpoint), e) for e in policy.entries]
    mine = [(p.layer, e) for p, e in entries if p.op == op and p.layer is not None]
    mine.sort(key=lambda pair: pair[0])
    layers = [layer for layer, _ in mine]
    limits = [entry.limit for _, entry in mine]
    top = max(limits, default=1.0) * 8
    axes.fill_between(layers, limits, top, color="#F3E3DA", alpha=0.7, lw=0)
    if layers:
        axes.text(layers[0], top / 1.4, "beyond the limit: WRONG", fontsize=8, color=SOFT, va="top")
    axes.plot(layers, limits, color=INK, linewidth=1.2, label="frozen limit")
    floors = [entry.floor for _, entry in mine]
    axes.plot(layers, floors, color="#777777", linewidth=1.0, linestyle="--", label="oracle noise")
    own = [entry.algorithm for _, entry in mine]
    if any(own):
        axes.plot(layers, own, color="#777777", linewidth=1.2, linestyle=":", label="profile error")
