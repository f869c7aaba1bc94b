"""Error of the residual stream against depth, with the frozen limit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from trlm_lab.base.names import is_checkpoint, parse_checkpoint
from trlm_lab.base.records import Comparison, TolerancePolicy
from trlm_lab.plots.result import PlotResult
from trlm_lab.plots.style import COLOURS, INK, MARKERS, PALE, blank, title


def depth_rows(series: Mapping[str, Comparison], op: str) -> list[dict[str, Any]]:
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
                worst[key] = max(worst.get(key, 0.0), point.metrics.max_abs)
    return [{"series": n, "layer": i, "max_abs": v} for (n, i), v in sorted(worst.items())]


def error_by_depth(
    series: Mapping[str, Comparison],
    policy: TolerancePolicy | None = None,
    *,
    op: str = "output",
    name: str = "error_by_depth",
    heading: str = "Error against depth",
) -> PlotResult:
    """Largest |candidate - oracle| of checkpoint `op` per layer, one line a series.

    Grey: the policy's limit and, dashed, the oracle's noise floor. Logarithmic error axis.
    """
    rows = depth_rows(series, op)
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
    axes.set_ylabel("max |candidate − oracle|")
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
    axes.plot(layers, floors, color="#888888", linewidth=1.0, linestyle="--", label="noise floor")
