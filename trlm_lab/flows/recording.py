"""Run a suite in an engine and record what it shows: in memory, or on disk where that is bounded.

A case of 2,048 tokens has gigabytes of scores. On disk (`out`) an array is held only while it is
written, and while somebody looks at it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

from trlm_lab.base.interfaces import LendingSession, Runner, Session, Subject, TraceView
from trlm_lab.base.records import Case, CaseSuite, CaseTrace
from trlm_lab.errors import TrlmError
from trlm_lab.flows.execution import prepare
from trlm_lab.flows.progress import Board
from trlm_lab.traces import Keeping, MemoryTrace, TraceStore, TraceWriter

#: A judge looks at every element, so nothing is left out.
WHOLE = Keeping(all_squares=True)


def record(
    engine: Runner,
    subject: Subject,
    suite: CaseSuite,
    board: Board,
    refused: dict[str, TrlmError] | None = None,
    *,
    out: Path | None = None,
) -> TraceView:
    """Run a suite in an engine and keep its observations, in a trace directory where `out` says so.

    With `refused`, errors of single cases are collected there and the other cases still run;
    where every case fails the last error is raised.
    """
    with (
        board.meter(f"{engine.name} on {suite.name}", suite.tokens, "tokens") as meter,
        engine.open(subject) as session,
    ):
        prepare(session, suite.cases)
        trace, write = _opened(session, dict(subject.ids or {}), out)
        for case in suite.cases:
            try:
                write(case)
            except TrlmError as error:
                if refused is None or len(refused) + 1 == len(suite.cases):
                    raise
                refused[case.case_id] = error
            meter.advance(len(case.token_ids))
    return trace()


def _opened(
    session: Session, ids: dict[str, str], out: Path | None
) -> tuple[Callable[[], TraceView], Callable[[Case], object]]:
    """What gives the trace in the end, and what takes a case into it."""
    if out is None:
        memory = MemoryTrace(session.identity, ids)
        return lambda: memory, lambda case: memory.write_case(case, session.run(case))
    files = TraceWriter(out, session.identity, ids, keeping=WHOLE)

    def stored() -> TraceView:
        files.record()
        return TraceStore(out)

    def write(case: Case) -> CaseTrace:
        # A file reads an array in passing, so that an engine may lend it.
        if isinstance(session, LendingSession):
            return files.write_case(case, partial(session.observe, case))
        return files.write_case(case, session.run(case))

    return stored, write
