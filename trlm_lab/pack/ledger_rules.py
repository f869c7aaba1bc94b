"""What a ledger must be by itself: a bijection of ranges, or an exception that says why not."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from itertools import pairwise

from trlm_lab.base.model_parts import HEAD
from trlm_lab.base.records import Ledger, LedgerEntry, Transform


@dataclass(frozen=True)
class LedgerFinding:
    """One broken rule: its code, the tensor, and what is wrong."""

    code: str
    where: str
    detail: str

    def to_map(self) -> dict[str, str]:
        """The form that the command prints."""
        return {"code": self.code, "where": self.where, "detail": self.detail}


Findings = Iterator[LedgerFinding]


def rule_findings(
    ledger: Ledger,
    source_names: Collection[str],
    destination_names: Collection[str],
    *,
    rotary: bool = False,
) -> list[LedgerFinding]:
    """Every rule that the ledger breaks, given the names that the two files hold.

    `rotary`: the destination stores queries and keys in another order (SLM1), and the ledger must
    say so; elsewhere it must not.
    """
    found = [*_lineage(ledger, destination_names), *_consumption(ledger, source_names)]
    found += [*_overlaps(ledger), *_partitions(ledger)]
    for entry in ledger.entries:
        found += [*_shape(entry), *_steps(entry), *_rotary(entry, rotary)]
    return found


def _lineage(ledger: Ledger, names: Collection[str]) -> Findings:
    """Every destination tensor has one entry."""
    made = [entry.destination_name for entry in ledger.entries]
    for name in sorted(set(names) - set(made)):
        yield LedgerFinding("LEDGER_NO_LINEAGE", name, "no source tensor is said to become this")
    for name in sorted(set(made) - set(names)):
        yield LedgerFinding("LEDGER_NO_LINEAGE", name, "the artifact holds no such tensor")
    for name in sorted({name for name in made if made.count(name) > 1}):
        yield LedgerFinding("LEDGER_DUPLICATE", name, "two entries say where it comes from")


def _consumption(ledger: Ledger, names: Collection[str]) -> Findings:
    """Every source tensor becomes something, or is left out for a reason."""
    used = {entry.source_name for entry in ledger.entries}
    left = {one.source_name for one in ledger.omissions if one.reason}
    for name in sorted(set(names) - used - left):
        yield LedgerFinding("LEDGER_UNCONSUMED", name, "nothing is made of it, and no reason given")
    for name in sorted((used | left) - set(names)):
        yield LedgerFinding("LEDGER_NO_LINEAGE", name, "the source holds no such tensor")


def _overlaps(ledger: Ledger) -> Findings:
    """Ranges of different tensors are disjoint; an alias shares those of its target."""
    sources = {e.source_name: (e.source_file, *e.source_range) for e in ledger.entries}
    stored = [e for e in ledger.entries if not _aliases(e)]
    made = {e.destination_name: ("artifact", *e.destination_range) for e in stored}
    for side in (sources, made):
        rows = sorted((*place, name) for name, place in side.items())
        for (file, _, end, one), (other_file, begin, _, other) in pairwise(rows):
            if file == other_file and begin < end:
                detail = f"byte {begin} is in the range of {one}, too"
                yield LedgerFinding("LEDGER_OVERLAP", other, detail)


def _partitions(ledger: Ledger) -> Findings:
    """The parts of a split tensor are its rows, each once; an unsplit one becomes one tensor.

    A residual is made of the same rows as its base, and is no part of its own.
    """
    parts: dict[str, list[LedgerEntry]] = {}
    for entry in ledger.entries:
        if not _aliases(entry) and not _is_residual(entry):
            parts.setdefault(entry.source_name, []).append(entry)
    for name, entries in parts.items():
        spans = sorted(_span(entry) for entry in entries)
        at = 0
        for first, count in spans:
            if first < at:
                yield LedgerFinding("LEDGER_DUPLICATE", name, f"row {first} becomes two tensors")
            elif first > at:
                yield LedgerFinding("LEDGER_UNCONSUMED", name, f"rows {at} to {first} become none")
            at = max(at, first + count)
        whole = _rows_behind_transposition(entries[0])
        if at < whole:
            yield LedgerFinding("LEDGER_UNCONSUMED", name, f"rows {at} to {whole} become nothing")


def _span(entry: LedgerEntry) -> tuple[int, int]:
    for step in entry.transforms:
        if step.kind == "rows":
            return int(step.parameters["first"]), int(step.parameters["count"])
    return 0, _rows_behind_transposition(entry)


def _rows_behind_transposition(entry: LedgerEntry) -> int:
    turned = any(step.kind == "transpose" for step in entry.transforms)
    shape = entry.source_shape[::-1] if turned else entry.source_shape
    return shape[0] if shape else 1


def _shape(entry: LedgerEntry) -> Findings:
    """The steps, one after the other, turn the source's shape into the destination's."""
    shape = entry.source_shape
    for step in entry.transforms:
        shape = _SHAPES.get(step.kind, _kept)(step, shape)
    if shape != entry.destination_shape:
        detail = f"the steps make {list(shape)} of {list(entry.source_shape)}"
        detail += f", the artifact has {list(entry.destination_shape)}"
        yield LedgerFinding("LEDGER_SHAPE", entry.destination_name, detail)


def _kept(step: Transform, shape: tuple[int, ...]) -> tuple[int, ...]:
    return shape


_SHAPES: dict[str, Callable[[Transform, tuple[int, ...]], tuple[int, ...]]] = {
    "transpose": lambda step, shape: shape[::-1],
    "rows": lambda step, shape: (int(step.parameters["count"]), *shape[1:]),
}
_KNOWN = {
    "transpose",
    "rows",
    "widen",
    "dequantize",
    "copy",
    "quantize",
    "pad",
    "alias",
    "residual",
    "rotary_permutation",
}
#: What the parameters of a step must hold.
_NEEDED = {
    "quantize": {"profile", "profile_id", "data_range", "scales_range", "lost"},
    "pad": {"logical", "physical", "fill", "unread"},
    "widen": {"from", "to"},
    "dequantize": {"profile", "profile_id", "block"},
    "rotary_permutation": {"from", "to", "heads", "head_dim"},
    "alias": {"target"},
    "residual": {"of", "entries", "profile", "profile_id", "data_range", "scales_range", "lost"},
}
_HEADS = ("q_proj", "k_proj", "v_proj")


def _steps(entry: LedgerEntry) -> Findings:
    """Every step is a known one, and says what it has to."""
    name = entry.destination_name
    for step in entry.transforms:
        if step.kind not in _KNOWN:
            yield LedgerFinding("LEDGER_STEPS", name, f"{step.kind!r} is no known step")
        missing = sorted(_NEEDED.get(step.kind, set()) - step.parameters.keys())
        if missing:
            yield LedgerFinding("LEDGER_STEPS", name, f"{step.kind} does not say {missing}")
        if step.kind == "rows":
            yield from _grouping(entry, step)
    if not entry.transforms:
        yield LedgerFinding("LEDGER_STEPS", name, "no step is given, not even a copy")


def _rotary(entry: LedgerEntry, wanted: bool) -> Findings:
    """Queries and keys are permuted once where the format wants it, nothing else ever is."""
    found = sum(step.kind == "rotary_permutation" for step in entry.transforms)
    expected = int(wanted and entry.role in ("q_proj", "k_proj"))
    if found != expected:
        detail = "queries and keys keep the source's order; rope_order says which it is"
        if wanted:
            detail = f"{found} rotary permutations of {entry.role}, the format has {expected}"
        yield LedgerFinding("LEDGER_ROTARY", entry.destination_name, detail)


def _grouping(entry: LedgerEntry, step: Transform) -> Findings:
    """A part of a split says which of which it is, and of a projection its heads."""
    name, row = entry.destination_name, step.parameters
    order, part = row.get("of"), row.get("part")
    if not isinstance(order, list) or part not in order:
        yield LedgerFinding("LEDGER_GROUPING", name, "the order of the parts is not declared")
    elif part in _HEADS:
        heads, width = row.get("heads"), row.get("head_dim")
        if not isinstance(heads, int) or not isinstance(width, int):
            yield LedgerFinding("LEDGER_GROUPING", name, "the heads of the part are not declared")
        elif heads * width != row["count"]:
            detail = f"{heads} heads of {width} rows are not {row['count']} rows"
            yield LedgerFinding("LEDGER_GROUPING", name, detail)


def _is_residual(entry: LedgerEntry) -> bool:
    return any(step.kind == "residual" for step in entry.transforms)


def _aliases(entry: LedgerEntry) -> bool:
    return entry.destination_name == HEAD and any(s.kind == "alias" for s in entry.transforms)
