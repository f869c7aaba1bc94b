"""Tables of what the source declares and of what became of its tensors."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from trlm_lab.base.records import Ledger, Snapshot

if TYPE_CHECKING:
    from trlm_lab.flows.run import Run


def _conflict_receipts(run: Run) -> Iterator[dict[str, Any]]:
    """The conflict receipts under the effective configuration, as they are stored."""
    store = run.ws.store
    for node_id in store.get(run.described.nodes["effective_config"]).children:
        node = store.get(node_id)
        if node.type == "conflict":
            yield store.get_value(node.metadata["receipt_blob"])


def conflict_rows(run: Run) -> list[dict[str, Any]]:
    """What every file declares, in four columns that never override one another silently."""
    return [
        {
            "field": row["field"],
            "publisher declares": _said(row["publisher"]),
            "source implements": shown(row["source"]),
            "nobody declares": row["undefined"],
            "chosen": shown(row["chosen"]),
        }
        for receipt in _conflict_receipts(run)
        for row in receipt["evidence"]
    ]


def finding_rows(run: Run) -> list[dict[str, Any]]:
    """Notes of the conflict detector; what contradicts itself has stopped the run before."""
    return [dict(row) for receipt in _conflict_receipts(run) for row in receipt["findings"]]


def _said(publisher: Mapping[str, Any]) -> str:
    return "; ".join(f"{place}: {shown(value)}" for place, value in publisher.items())


def shown(value: Any) -> str:
    """A declared value in one line; what was declared as null says so, nothing stays empty."""
    if value is None:
        return "none"
    if isinstance(value, (list, tuple)):
        cut = ", ".join(shown(v) for v in value[:8])
        return f"[{cut}{', … ' + str(len(value)) + ' entries' if len(value) > 8 else ''}]"
    text = str(value)
    return text if len(text) <= 80 else f"{text[:77]}…"


def declaration_rows(run: Run) -> list[dict[str, Any]]:
    """Every value of the source, what is run instead where it differs, and where it comes from.

    A special id that the framework leaves open (None) may be declared by a tokenizer file: then
    the effective configuration holds the declared one.
    """
    effective = run.described.config.to_map()
    rows = []
    for default in run.described.defaults.values:
        used = effective.get(default.name, default.value)
        same = shown(used) == shown(default.value)
        rows.append(
            {
                "field": default.name,
                "the framework has": shown(default.value),
                "run as": "the same" if same else shown(used),
                "origin": default.origin,
            }
        )
    return rows


def transform_rows(snapshot: Snapshot) -> list[dict[str, Any]]:
    """The conversions of the source's tensors, each sequence once with how many went through it."""
    groups: dict[str, list[str]] = {}
    for tensor in snapshot.provenance.get("tensors") or ():
        steps = [_step(kind, facts) for kind, facts in tensor.get("transforms") or ()]
        groups.setdefault(" → ".join(steps) or "kept as it is", []).append(tensor["name"])
    return [
        {"transforms": steps, "tensors": len(names), "first": names[0]}
        for steps, names in sorted(groups.items(), key=lambda pair: -len(pair[1]))
    ]


def _step(kind: str, facts: Mapping[str, Any]) -> str:
    inside = ", ".join(f"{k} {v}" for k, v in facts.items())
    return f"{kind} ({inside})" if inside else kind


def ledger_rows(ledger: Ledger, *, first: int = 8, last: int = 4) -> list[dict[str, Any]]:
    """The first and last entries of a ledger: what became of which tensor."""
    entries = ledger.entries
    ends = entries if len(entries) <= first + last else (*entries[:first], *entries[-last:])
    return [
        {
            "source": e.source_name,
            "shape": "×".join(map(str, e.source_shape)),
            "transforms": " → ".join(t.kind for t in e.transforms),
            "destination": e.destination_name,
            "type": e.destination_dtype,
            "bytes": e.destination_range[1] - e.destination_range[0],
            "SHA-256": e.destination_sha256[:16] + "…",
        }
        for e in ends
    ]
