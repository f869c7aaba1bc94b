"""Stage 4: cases run in engines; their checkpoints are hashed and, where wanted, stored.

The oracle is one more engine here. A stored trace is reused case by case after every digest has
been recomputed from the arrays; a trace of which only digests are kept is reused by its key.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from trlm_lab.base.interfaces import LendingSession, Runner, Session, Subject, TraceView
from trlm_lab.base.records import (
    Case,
    CaseSuite,
    CaseTrace,
    EngineIdentity,
    Observation,
    Outcome,
    TraceRecord,
)
from trlm_lab.base.records.outcome import outcome_of_error
from trlm_lab.errors import EngineMissingError, NoRunError, NotStoredError, TrlmError
from trlm_lab.flows.identity import package_sha256
from trlm_lab.flows.probing import probed
from trlm_lab.flows.progress import Meter
from trlm_lab.flows.workspace import Workspace
from trlm_lab.receipts import ReceiptStore
from trlm_lab.traces import Keeping, Push, TraceStore, TraceWriter, hash_only, trace_record

#: Digests are compared between traces of which some hold arrays and some do not.
WHOLE = Keeping(all_squares=True)


def trace_name(engine: str, label: str, suite: str) -> str:
    """A file-safe name of the trace of an engine on an artifact over a suite."""
    return f"{engine}-{label}-{suite}".replace("@", "-").replace(":", "-")


@dataclass(frozen=True)
class Task:
    """One engine to run on one subject over one suite; `keep` stores the arrays.

    `parents` are the nodes that the trace rests on, `tokenizer` and `template` those of its text
    cases.
    """

    engine: str
    label: str
    runner: Runner
    subject: Subject
    suite: CaseSuite
    keep: bool = False
    parents: tuple[str, ...] = ()
    tokenizer: str = ""
    template: str = ""
    node_type: str = "trace"

    @property
    def name(self) -> str:
        """A file-safe name of the trace."""
        return trace_name(self.engine, self.label, self.suite.name)


@dataclass(frozen=True)
class Ran:
    """The result of a task: its record, its receipt node, its stored arrays if kept."""

    task: Task
    record: TraceRecord
    node: str
    view: TraceView | None = None

    @property
    def key(self) -> tuple[str, str]:
        """(engine, label)."""
        return self.task.engine, self.task.label

    @property
    def stored_view(self) -> TraceView:
        """The stored arrays. Raises NotStoredError where only digests were kept."""
        if self.view is None:
            raise NotStoredError(where=self.task.name, engine=self.task.engine)
        return self.view


@dataclass(frozen=True)
class Failed:
    """A task that ended in an error; never a pass."""

    task: Task
    error: TrlmError

    @property
    def outcome(self) -> Outcome:
        """NOT_SUPPORTED where the engine says so, INFRA otherwise."""
        return outcome_of_error(self.error.code)


def run_tasks(ws: Workspace, tasks: list[Task], *, workers: int = 2) -> list[Ran | Failed]:
    """Run tasks, `workers` at a time, in the order given; one task's error spares the others."""
    with ThreadPoolExecutor(max_workers=workers) as pool:
        try:
            return list(pool.map(lambda task: _guarded(ws, task), tasks))
        except BaseException:
            # Running workers stop at their next case; waiting ones never start.
            ws.board.cancelled.set()
            raise


def _guarded(ws: Workspace, task: Task) -> Ran | Failed:
    try:
        here = task.runner.availability()
        if not here.available:
            raise EngineMissingError(where=task.engine, reason=here.reason, remedy=here.fix)
        return run_task(ws, task)
    except TrlmError as error:
        ws.board.say(f"  {task.engine} on {task.label}: {error}")
        return Failed(task, error)


def run_task(ws: Workspace, task: Task) -> Ran:
    """Run one task and write its receipt."""
    title = f"{task.engine} on {task.label}, {task.suite.name}"
    with ws.board.meter(title, task.suite.tokens, "tokens") as meter:
        ran = _stored(ws, task, meter) if task.keep else _digested(ws, task, meter)
    record, view = ran
    node = ws.store.add(
        task.node_type,
        {
            "trace_id": record.trace_id,
            "engine": record.engine.to_map(),
            "trace_blob": ws.store.put_value(record.to_map()),
        },
        [*task.parents, *engine_nodes(ws.store, record.engine), *_case_nodes(ws, task)],
    )
    return Ran(task, record, node, view)


def engine_nodes(store: ReceiptStore, engine: EngineIdentity) -> list[str]:
    """The build that ran and the profile it kept to: another of either invalidates the trace."""
    build = {
        "name": engine.name,
        "version": engine.version,
        "build_sha256": engine.build_sha256,
        "details_blob": store.put_value(dict(engine.details)),
    }
    return [
        store.add("runtime_build", build, []),
        store.add("engine_profile", {"name": engine.profile}, []),
    ]


def _case_nodes(ws: Workspace, task: Task) -> list[str]:
    """One node a case; a text rests on tokenizer and template, what was ids on nothing."""
    below = [node for node in (task.tokenizer, task.template) if node]
    return [
        ws.store.add("case", case.to_map(), below if case.kind == "text" else [])
        for case in task.suite.cases
    ]


def _inputs(task: Task, case: Case | None = None) -> dict[str, Any]:
    here = task.runner.availability()
    return {
        "engine": task.engine,
        "version": here.version,
        "features": list(here.features),
        "package": package_sha256(),
        "subject": dict(task.subject.ids or {}),
        "cases": case.digest if case else task.suite.digest,
    }


def _stored(ws: Workspace, task: Task, meter: Meter) -> tuple[TraceRecord, TraceView]:
    path = ws.traces / f"{task.name}.zarr"
    inputs = _inputs(task)
    known = ws.recall(task.name, inputs)
    if known is not None and _still_sound(ws, path, known):
        meter.title += " (stored arrays verified)"
        meter.advance(task.suite.tokens)
        return TraceRecord.from_map(known), TraceStore(path)
    if known is not None:
        ws.reused.remove(task.name)
    _refuse_when_trusted(ws, task)
    if path.exists() and ws.recall(f"{task.name}.begun", inputs) is None:
        ws.drop(path)
    with task.runner.open(task.subject) as session:
        prepare(session, task.suite.cases)
        writer = _writer(ws, path, session, task)
        ws.remember(f"{task.name}.begun", inputs, True)
        _write_cases(writer, session, task, meter)
    store = TraceStore(path)
    record = store.record()
    ws.remember(task.name, inputs, record.to_map())
    return record, store


def _writer(ws: Workspace, path: Path, session: Session, task: Task) -> TraceWriter:
    """Go on with a trace directory, keeping the cases that verify; start anew where none can be."""
    ids, identity = dict(task.subject.ids or {}), probed(task.runner, session.identity)
    try:
        return TraceWriter(path, identity, ids, keeping=WHOLE, verify_kept=True)
    except TrlmError:
        ws.drop(path)
        return TraceWriter(path, identity, ids, keeping=WHOLE)


def _write_cases(writer: TraceWriter, session: Session, task: Task, meter: Meter) -> None:
    """Run every case; one that the engine does not support is left out of the trace.

    Raises:
        TrlmError: the engine supports no case at all, or fails otherwise.
    """
    refused: TrlmError | None = None
    written = 0
    for case in task.suite.cases:
        try:
            if writer.kept(case) is None:
                writer.write_case(case, _looked_at(session, case))
            written += 1
        except TrlmError as error:
            if outcome_of_error(error.code) is not Outcome.NOT_SUPPORTED:
                raise
            refused = error
        meter.advance(len(case.token_ids))
    writer.record()
    if not written and refused is not None:
        raise refused


def _looked_at(session: Session, case: Case) -> Iterable[Observation] | Push:
    """The case as the engine lends its arrays, where it does: that is cheaper than copies."""
    if isinstance(session, LendingSession):
        return partial(session.observe, case)
    return session.run(case)


def _refuse_when_trusted(ws: Workspace, task: Task) -> None:
    """A reopened run is read, never computed again."""
    if ws.trusted:
        detail = f"{task.name} is missing, or was made by another version of this package"
        raise NoRunError(where=str(ws.out), detail=detail)


def _still_sound(ws: Workspace, path: Path, known: dict[str, Any]) -> bool:
    """Whether the arrays on disk still hash to the remembered record."""
    if not path.exists():
        return False
    try:
        store = TraceStore(path)
        record = store.record() if ws.trusted else store.verify()
    except TrlmError:
        return False
    return record.to_map() == known


def _digested(ws: Workspace, task: Task, meter: Meter) -> tuple[TraceRecord, None]:
    """Run without storing arrays; finished cases are remembered one by one."""
    opened = _Lazy(lambda: task.runner.open(task.subject))
    rows: list[dict[str, Any]] = []
    try:
        for case in task.suite.cases:
            stage = f"{task.name}.{case.case_id}"
            inputs = _inputs(task, case)
            row = ws.recall(stage, inputs)
            if row is None:
                _refuse_when_trusted(ws, task)
            rows.append(row or ws.remember(stage, inputs, _digest(task, opened.get(), case)))
            meter.advance(len(case.token_ids))
    finally:
        opened.close()
    identity = EngineIdentity(**rows[0]["engine"])
    cases = [TraceRecord.from_map(row).cases[0] for row in rows]
    return trace_record(identity, dict(task.subject.ids or {}), cases), None


def _digest(task: Task, session: Session, case: Case) -> dict[str, Any]:
    run_digests: Callable[[Case], CaseTrace] | None = getattr(session, "run_digests", None)
    trace = run_digests(case) if run_digests else hash_only(case, session.run(case))
    return TraceRecord(probed(task.runner, session.identity), {}, (trace,)).to_map()


class _Lazy:
    """A session that is opened only if some case really has to run."""

    def __init__(self, make: Callable[[], Session]) -> None:
        self._make = make
        self._session: Session | None = None
        self._lock = threading.Lock()

    def get(self) -> Session:
        with self._lock:
            if self._session is None:
                self._session = self._make().__enter__()
            return self._session

    def close(self) -> None:
        if self._session is not None:
            self._session.__exit__(None, None, None)


def prepare(session: Session, cases: Sequence[Case], decode_steps: int = 0) -> None:
    """Let an engine that answers all cases in one call make that call."""
    batch: Callable[..., None] | None = getattr(session, "prepare", None)
    if batch is not None:
        batch(cases, decode_steps) if decode_steps else batch(cases)
