"""Which rows a comparison must have: every case of the suite, every checkpoint that both show."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from trlm_lab.base.records import CaseComparison, Outcome, TraceRecord
from trlm_lab.compare.compare import PROMPT_IDS
from trlm_lab.errors import NotStoredError
from trlm_lab.metrics import TOP_K, CasePair
from trlm_lab.metrics.inputs import INPUTS


class RecordView:
    """A trace of which only the record is read: names and cases, no arrays."""

    def __init__(self, record: TraceRecord) -> None:
        self.record = record
        self._names = {case.case_id: case.names for case in record.cases}

    @property
    def trace_id(self) -> str:
        """Content id of the run."""
        return self.record.trace_id

    def case_ids(self) -> tuple[str, ...]:
        """Cases of the record."""
        return tuple(self._names)

    def names(self, case_id: str) -> tuple[str, ...]:
        """Names of the arrays of a case."""
        return self._names[case_id]

    def read(self, case_id: str, name: str) -> NDArray[Any]:
        """Nothing is stored here. Raises NotStoredError."""
        raise NotStoredError(where=f"{case_id} {name}", engine=self.record.engine.name)


def coverage_problem(case: CaseComparison, reference: TraceRecord, candidate: TraceRecord) -> str:
    """Why the rows of a case are not those that its two traces give, or empty."""
    pair = CasePair(RecordView(reference), RecordView(candidate), case.case_id)
    # A top k that is not that of its own logits has a row beside theirs; it is no coverage.
    rows = [r for row in case.checkpoints if (r := row.checkpoint) not in TOP_K]
    if rows == [PROMPT_IDS]:
        return _single_problem(case.checkpoints[0].outcome, pair)
    other = _other_input(case.case_id, reference, candidate)
    if other:
        return f"{other} differs between the two traces, and yet checkpoints are compared"
    if rows[:1] == [PROMPT_IDS] and not pair.shared:
        rows = rows[1:]
    missing = [name for name in pair.shared if name not in rows]
    if missing:
        return f"{len(missing)} rows are missing, first {missing[0]}"
    if rows != [name for name in pair.exposed if name in rows]:
        return "rows that the candidate does not show, or twice, or in another order"
    return "" if rows else "no row at all"


def _single_problem(outcome: Outcome, pair: CasePair) -> str:
    """The one row `prompt_ids`: other inputs (a fault), or a candidate that shows nothing."""
    if outcome is Outcome.NOT_SUPPORTED and pair.shared:
        return f"NOT_SUPPORTED as a whole, and both traces show {len(pair.shared)} checkpoints"
    if outcome not in (Outcome.NOT_SUPPORTED, Outcome.WRONG, Outcome.INFRA):
        return f"{outcome.value} without a compared checkpoint"
    return ""


def _other_input(case_id: str, reference: TraceRecord, candidate: TraceRecord) -> str:
    held = {case.case_id: case for case in candidate.cases}
    if case_id not in held:
        return ""
    ours = {a.name: a for a in reference.case(case_id).arrays}
    theirs = {a.name: a for a in held[case_id].arrays}
    both = (name for name in INPUTS if name in ours and name in theirs)
    return next((name for name in both if ours[name] != theirs[name]), "")
