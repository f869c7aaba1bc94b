"""`trlm compare`: two stored traces, arrays against arrays and statistics against statistics.

Where a trace holds statistics only, equal figures prove nothing and unequal ones prove that the
arrays differ. Such a checkpoint is asked for: its arrays are captured in full on demand, and the
comparison is made again.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from trlm_lab.base.interfaces import TraceView
from trlm_lab.base.names import in_ladder_order
from trlm_lab.base.records import CaseComparison, CaseSuite, Comparison, TolerancePolicy
from trlm_lab.calibrate import load_policy
from trlm_lab.compare import compare_traces
from trlm_lab.flows.capture import capture_oracle
from trlm_lab.flows.progress import Board
from trlm_lab.flows.reviewed_files import NOTHING, Reviewed
from trlm_lab.flows.single import open_trace
from trlm_lab.traces import Keeping, TraceStore, aligned, pick_of, statistics_of
from trlm_lab.traces.statistics import FIGURES

#: Name of the engine whose traces `trlm capture` writes.
ORACLE = "torch"


@dataclass(frozen=True)
class Asked:
    """A checkpoint whose figures differ and of which a trace has no whole array."""

    case_id: str
    checkpoint: str
    figure: str
    reference: float
    candidate: float


@dataclass(frozen=True)
class StoredComparison:
    """What the arrays say, what is asked for, and how many checkpoints only figures speak of."""

    comparison: Comparison
    asked: tuple[Asked, ...] = ()
    agreeing: int = 0

    def to_map(self) -> dict[str, Any]:
        """The comparison's map, with what the statistics add where a trace has some."""
        if not self.asked and not self.agreeing:
            return self.comparison.to_map()
        rows = [{k: _told(v) for k, v in vars(one).items()} for one in self.asked]
        return {**self.comparison.to_map(), "asked": rows, "statistics_agree": self.agreeing}


def compare_stored(
    reference: Path, candidate: Path, policy: Path | None, board: Board
) -> StoredComparison:
    """Compare two stored traces."""
    frozen = load_policy(policy) if policy else None
    left, right = open_trace(reference), open_trace(candidate)
    screened = [row for case_id in left.case_ids() for row in _screened(left, right, case_id)]
    asked = tuple(row for row in screened if row is not None)
    comparison = _compared(*aligned(left, right), frozen, board)
    return StoredComparison(comparison, asked, len(screened) - len(asked))


def compare_in_full(
    reference: Path,
    candidate: Path,
    policy: Path | None,
    board: Board,
    *,
    model: Path,
    reviewed: Reviewed = NOTHING,
) -> StoredComparison:
    """Compare, capture what is asked for from the oracle's model, and compare again.

    Raises:
        Refused, UsageError, InfrastructureError: as `capture_oracle`.
    """
    found = compare_stored(reference, candidate, policy, board)
    taken = [_taken(path, found.asked, model, board, reviewed) for path in (reference, candidate)]
    return compare_stored(reference, candidate, policy, board) if any(taken) else found


def _compared(
    left: TraceView, right: TraceView, policy: TolerancePolicy | None, board: Board
) -> Comparison:
    cases = left.case_ids()
    if not cases:
        return compare_traces(left, right, policy)
    rows: list[CaseComparison] = []
    with board.meter("compare", len(cases), "cases") as meter:
        for case_id in cases:
            one = compare_traces(left, right, policy, cases=[case_id])
            rows += one.cases
            meter.advance()
    return replace(one, cases=tuple(rows))


def _screened(left: TraceView, right: TraceView, case_id: str) -> Iterator[Asked | None]:
    """Of each checkpoint that not both have whole: what differs first, or None."""
    if case_id not in right.case_ids():
        return
    known = {name for view in (left, right) for name in _summarised(view, case_id)}
    for name in in_ladder_order(known):
        if _has_whole(left, case_id, name) and _has_whole(right, case_id, name):
            continue
        ours, theirs = _figures(left, case_id, name), _figures(right, case_id, name)
        if ours and theirs:
            differing = (f for f in FIGURES if _bits(ours[f]) != _bits(theirs[f]))
            figure = next(differing, None)
            yield Asked(case_id, name, figure, ours[figure], theirs[figure]) if figure else None


def _summarised(view: TraceView, case_id: str) -> tuple[str, ...]:
    return view.summarised(case_id) if isinstance(view, TraceStore) else ()


def _has_whole(view: TraceView, case_id: str, name: str) -> bool:
    return name in view.names(case_id) and pick_of(view, case_id, name) is None


def _figures(view: TraceView, case_id: str, name: str) -> dict[str, float] | None:
    if isinstance(view, TraceStore) and name in view.summarised(case_id):
        return view.statistics(case_id, name)
    if not _has_whole(view, case_id, name):
        return None
    row = statistics_of(view.read(case_id, name)).tolist()
    return dict(zip(FIGURES, row, strict=True))


def _bits(value: float) -> bytes:
    """A NaN equals itself here, and zeros of different sign do not."""
    return struct.pack("<d", value)


def _taken(
    path: Path, asked: tuple[Asked, ...], model: Path, board: Board, reviewed: Reviewed
) -> bool:
    """Capture in full what is asked for and a trace of the oracle lacks; whether there was any."""
    store = open_trace(path)
    if not isinstance(store, TraceStore) or store.identity.name != ORACLE:
        return False
    lacking = [one for one in asked if not _has_whole(store, one.case_id, one.checkpoint)]
    if not lacking:
        return False
    cases = sorted({one.case_id for one in lacking})
    names = tuple(in_ladder_order({one.checkpoint for one in lacking}))
    first = any(set(store.summarised(c)) - set(store.names(c)) for c in cases)
    capture_oracle(
        model, CaseSuite("what is asked for", tuple(map(store.case, cases))), path, board,
        threads=int(store.identity.details["threads"]),
        dtype=str(store.identity.details["dtype"]),
        keeping=Keeping(statistics=first, whole=names), reviewed=reviewed,
    )  # fmt: skip
    return True


def _told(value: Any) -> Any:
    """A figure as JSON can hold it."""
    odd = isinstance(value, float) and (value != value or value in (float("inf"), -float("inf")))
    return str(value) if odd else value
