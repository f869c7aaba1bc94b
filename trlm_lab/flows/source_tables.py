"""Tables of what the source declares and of what became of its tensors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from trlm_lab.base.records import Ledger, Snapshot
from trlm_lab.flows.tables import shortened

if TYPE_CHECKING:
    from trlm_lab.flows.run import Run


def conflict_rows(run: Run) -> list[dict[str, Any]]:
    """What every file declares, in four columns that never override one another silently."""
    return [
        {
            "field": row["field"],
            "publisher declares": "; ".join(map(_declared, row["publisher"])),
            "source implements": shown(row["source"]),
            "nobody declares": row["undefined"],
            "chosen": shown(row["chosen"]),
        }
        for row in run.described.receipt["evidence"]
    ]


def _declared(row: Mapping[str, Any]) -> str:
    """`file#pointer: value`, the value cut to a line."""
    place = f"{row['file']}#{row['pointer']}" if row["pointer"] else row["file"]
    return f"{place}: {shown(row['value'])}"


def finding_rows(run: Run) -> list[dict[str, Any]]:
    """Notes of the conflict detector, and conflicts that a resolution settled.

    What contradicts itself otherwise has stopped the run before.
    """
    return [dict(row) for row in run.described.receipt["findings"]]


def shown(value: Any) -> str:
    """A declared value in one line; what was declared as null says so, nothing stays empty."""
    if value is None:
        return "none"
    if isinstance(value, (list, tuple)):
        cut = ", ".join(shown(v) for v in value[:8])
        return f"[{cut}{', … ' + str(len(value)) + ' entries' if len(value) > 8 else ''}]"
    return shortened(str(value), 80)


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
