"""Tables that notebooks and reports show, computed from records."""

from __future__ import annotations

import html
import math
import string
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from trlm_lab.base.interfaces import TraceView
from trlm_lab.base.names import LAYER_CHECKPOINTS, is_checkpoint, parse_checkpoint
from trlm_lab.base.records import Comparison, PolicyEntry, TolerancePolicy
from trlm_lab.metrics import UlpHistogram, ulp_histogram

if TYPE_CHECKING:
    from trlm_lab.flows.judgement import Judged
    from trlm_lab.flows.run import Run


_STYLE = "style='text-align:left;vertical-align:top'"
_BROKEN = "style='text-align:left;vertical-align:top;word-break:break-all;min-width:13em'"
_LONGEST_WORD = 30
_WORD = string.ascii_letters + string.digits


def _cell(value: Any) -> str:
    style = _BROKEN if unbroken(value) else _STYLE
    return f"<td {style}>{html.escape(text_of(value))}</td>"


def unbroken(value: Any) -> bool:
    """Whether a cell holds a word (a hash, mostly) that must break to fit the page."""
    return any(len(word) > _LONGEST_WORD for word in text_of(value).split())


class Words:
    """A sentence that a notebook shows as text of the page, not as output of a program."""

    def __init__(self, text: str) -> None:
        self.text = text

    def _repr_html_(self) -> str:
        return f"<p>{html.escape(self.text)}</p>"

    def __repr__(self) -> str:
        return self.text


class Table:
    """Rows of equal keys, shown as HTML in Jupyter and as text elsewhere."""

    def __init__(self, rows: list[dict[str, Any]], caption: str = "") -> None:
        self.rows = rows
        self.caption = caption

    def _repr_html_(self) -> str:
        if not self.rows:
            return "<p>no rows</p>"
        head = "".join(f"<th scope='col' {_STYLE}>{html.escape(str(k))}</th>" for k in self.rows[0])
        body = "".join(
            "<tr>" + "".join(_cell(value) for value in row.values()) + "</tr>" for row in self.rows
        )
        words = html.escape(self.caption)
        caption = f"<caption style='text-align:left'>{words}</caption>" if words else ""
        return f"<table>{caption}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"

    def __repr__(self) -> str:
        return "\n".join(" | ".join(text_of(v) for v in row.values()) for row in self.rows)

    def show(self) -> None:
        """Display from the middle of a cell."""
        from IPython.display import display

        display(self)  # type: ignore[no-untyped-call]


def text_of(value: Any) -> str:
    """A value as a cell shows it: four digits of a float, grouped thousands, nothing for None."""
    if isinstance(value, float):
        return (
            f"{value:.3e}"
            if math.isfinite(value) and value and abs(math.log10(abs(value))) > 4
            else f"{value:.4g}"
        )
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    return "" if value is None else str(value)


def table(rows: Iterable[Mapping[str, Any]], *, transpose: bool = False) -> Table:
    """A table of rows; `transpose` shows one row as two columns."""
    made = [dict(row) for row in rows]
    if transpose:
        return Table([{"": k, "value": v} for row in made for k, v in row.items()])
    return Table(made)


def flat_table(value: Mapping[str, Any], *, limit: int = 200) -> Table:
    """A nested map as (key, value) rows; lists are cut after eight entries."""
    rows: list[dict[str, Any]] = []

    def walk(prefix: str, item: Any) -> None:
        if isinstance(item, Mapping):
            for key, inner in item.items():
                walk(f"{prefix}.{key}" if prefix else str(key), inner)
        else:
            text = f"{item[:8]} … {len(item)} entries" if _long(item) else str(item)
            rows.append({"key": prefix, "value": shortened(text, 160)})

    walk("", value)
    left = len(rows) - limit
    return Table(rows[:limit] + ([{"key": "…", "value": f"{left} more"}] if left > 0 else []))


def shortened(text: str, most: int) -> str:
    """At most `most` characters; a word that would be broken is left out whole.

    Half a hash is no content id any more: the secret scan would take it for somebody's key.
    """
    if len(text) <= most:
        return text
    head = text[: most - 1]
    whole = head.rstrip(_WORD) if text[most - 1] in _WORD else head
    return f"{whole or head[:_LONGEST_WORD]}…"


def _long(item: Any) -> bool:
    return isinstance(item, (list, tuple)) and len(item) > 8


def limit_rows(policy: TolerancePolicy) -> list[dict[str, Any]]:
    """Largest oracle noise, profile error and limit of each operator over the layers; the oracle's
    own drift where the policy holds it, which the noise is never below.
    """
    groups: dict[str, list[PolicyEntry]] = {}
    for entry in policy.entries:
        groups.setdefault(parse_checkpoint(entry.checkpoint).op, []).append(entry)
    order = ["embedding", *LAYER_CHECKPOINTS, "final_norm", "logits"]
    return [
        {
            "operator": op,
            "oracle noise, most": max(e.floor for e in groups[op]),
            **_drift_column(groups[op]),
            "profile error, most": max(e.algorithm for e in groups[op]),
            "limit, least": min(e.limit for e in groups[op]),
            "limit, most": max(e.limit for e in groups[op]),
        }
        for op in order
        if op in groups
    ]


def _drift_column(entries: list[PolicyEntry]) -> dict[str, float]:
    measured = [e.drift for e in entries if e.drift is not None]
    return {"own drift, most": max(measured)} if measured else {}


def logit_rows(judged: Mapping[tuple[str, str], Judged]) -> list[dict[str, Any]]:
    """What the differences mean for the next token: worst KL, greedy agreement, error and limit."""
    rows = []
    for (engine, artifact), found in judged.items():
        points = [
            p for c in found.comparison.cases for p in c.checkpoints
            if p.checkpoint == "logits" and p.logits is not None and p.metrics is not None
        ]  # fmt: skip
        if not points:
            continue
        figures = [p.logits for p in points if p.logits is not None]
        rows.append(
            {
                "engine": engine,
                "artifact": artifact,
                "max error": max(p.metrics.max_abs for p in points if p.metrics),
                "limit": points[0].limit,
                "max KL (nats)": max(f.kl_forward_max for f in figures),
                "same greedy token": f"{sum(f.top1_equal for f in figures)} of "
                f"{sum(f.positions for f in figures)}",
                "least margin": min(f.margin_min for f in figures),
            }
        )
    return rows


def worst_rows(comparison: Comparison, *, count: int = 12) -> list[dict[str, Any]]:
    """The compared checkpoints nearest to, or furthest beyond, their limit."""
    rows: list[dict[str, Any]] = [
        {
            "case": case.case_id,
            "checkpoint": p.checkpoint,
            "outcome": p.outcome.value,
            "max error": p.metrics.max_abs,
            "limit": p.limit,
            "error/limit": p.metrics.max_abs / p.limit if p.limit else None,
            "max ULP": p.metrics.max_ulp,
        }
        for case in comparison.cases
        for p in case.checkpoints
        if p.metrics is not None and not p.metrics.bit_equal
    ]
    rows.sort(key=lambda row: -(row["error/limit"] or 0.0))
    return rows[:count]


def ulp_rows(
    reference: TraceView, candidate: TraceView, *, op: str = "output", last: int = 4096
) -> list[tuple[str, int]]:
    """(bin, count) of ULP distances of one operator over all layers and cases.

    Bins are powers of two up to `last`; everything beyond is in one bin, so that any two series
    have the same bins.
    """
    total: UlpHistogram | None = None
    for case_id in candidate.case_ids():
        for name in candidate.names(case_id):
            if is_checkpoint(name) and parse_checkpoint(name).op == op:
                pair = reference.read(case_id, name), candidate.read(case_id, name)
                histogram = ulp_histogram(*pair)
                total = histogram if total is None else total + histogram
    if total is None:
        return []
    bins = [("0", total.counts[0])]
    edge = 0
    while 1 << edge < last:
        low, high = 1 << edge, (1 << (edge + 1)) - 1  # a label names the lower end
        bins.append((str(low) if low == high else f"{low}+", total.counts[edge + 1]))
        edge += 1
    return [*bins, (f"{last}+", sum(total.counts[edge + 1 :]))]


def claim_rows(run: Run) -> list[dict[str, Any]]:
    """The claims as a notebook shows them: the outcome first, the evidence by its first digits."""
    order = ("outcome", "level", "claim", "engine", "artifact", "detail", "evidence")
    return [{k: row[k][:12] if k == "evidence" else row[k] for k in order} for row in run.summary()]
