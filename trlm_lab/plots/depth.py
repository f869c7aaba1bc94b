"""Error of the residual stream against depth, with the frozen limit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from trlm_lab.base.names import is_checkpoint, parse_checkpoint
from trlm_lab.base.records import Comparison, TolerancePolicy
from trlm_lab.plots.result import PlotResult
from trlm_lab.plots.style import COLOURS, INK, MARKERS, PALE, blank, title


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
    figure, axes = blank(7.2, 3.9)
    # An engine that shows logits alone has no line, and takes no place in the legend.
    shown = dict.fromkeys(r["series"] for r in rows)
    for number, label in enumerate(label for label in series if label in shown):
        mine = [r for r in rows if r["series"] == label]
        axes.plot(
            [r["layer"] for r in mine],
            [r["max_abs"] for r in mine],
            color=COLOURS[number % len(COLOURS)],
            marker=MARKERS[number % len(MARKERS)],
            markersize=3.5,
            linewidth=1.3,
            label=label,
        )
    if policy is not None:
        _limits(axes, policy, op)
    axes.set_yscale("log")
    axes.set_xlabel("layer")
    unit = "max |difference| / RMS" if relative else "max |candidate − oracle|"
    axes.set_ylabel(unit)
    axes.grid(axis="y", color=PALE, linewidth=0.6)
    axes.legend(frameon=False, fontsize=8, loc="best")
    title(axes, heading, f"checkpoint {op}, largest over all cases and elements")
    return PlotResult(name, figure, rows)


def _limits(axes: Any, policy: TolerancePolicy, op: str) -> None:
    entries = [(parse_checkpoint(e.checkpoint), e) for e in policy.entries]
    mine = [(p.layer, e) for p, e in entries if p.op == op and p.layer is not None]
    mine.sort(key=lambda pair: pair[0])
    layers = [layer for layer, _ in mine]
    limits = [entry.limit for _, entry in mine]
    axes.fill_between(layers, limits, max(limits, default=1.0) * 8, color=PALE, alpha=0.6, lw=0)
    axes.plot(layers, limits, color=INK, linewidth=1.0, label="frozen limit")
    floors = [entry.floor for _, entry in mine]
    axes.plot(layers, floors, color="#888888", linewidth=1.0, linestyle="--", label="oracle noise")
    own = [entry.algorithm for _, entry in mine]
    if any(own):
        axes.plot(layers, own, color="#888888", linewidth=1.0, linestyle=":", label="profile error")
