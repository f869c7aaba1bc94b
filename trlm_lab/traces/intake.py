"""The one door through which observations enter a trace: checked, hashed once, put in order.

Of a stream, hashing and storing run in a background thread and overlap with the engine. An engine
that lends its own arrays waits instead: there is nothing to copy, and no lock to fight over.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import numpy as np

from trlm_lab.base.records import (
    ArrayDigest,
    Case,
    CaseTrace,
    EngineIdentity,
    Observation,
    TraceRecord,
)
from trlm_lab.errors import ObservationError
from trlm_lab.traces.places import place_of, stands_for, trace_order

#: Observations that may wait for the background thread: about one layer of a short case, and of a
#: long one no more than these bytes.
WAITING = 24
WAITING_BYTES = 64_000_000

#: What is done with an observation, and what comes of it.
Work = Callable[[Observation], Sequence[ArrayDigest]]
#: An engine's pass over a case that lends each observation to a sink and waits for it.
Push = Callable[[Callable[[Observation], None]], None]


class Extents:
    """The sizes that one case gives to the axis letters; every array must agree with them."""

    def __init__(self, tokens: int) -> None:
        self._sizes: dict[str, int] = {"T": tokens, "S": tokens}

    def admit(self, name: str, shape: tuple[int, ...]) -> None:
        """Raise ObservationError where the shape of `name` contradicts the arrays before it."""
        place = place_of(name)
        if stands_for(name)[1]:
            raise ObservationError(where=name, detail="a name of what the trace itself makes")
        if 0 in shape:
            raise ObservationError(where=name, detail=f"an empty array of shape {list(shape)}")
        if place.axes is None:
            return
        if len(shape) != len(place.axes):
            raise ObservationError(where=name, detail=f"shape {list(shape)} for axes {place.axes}")
        for axis, size in zip(place.axes, shape, strict=True):
            known = self._sizes.setdefault(axis, size)
            if size != known:
                detail = f"{size} on axis {axis}, which has {known} in this case"
                raise ObservationError(where=name, detail=detail)


class Intake:
    """The rules of a stream: ids first, known names, once each, agreeing shapes.

    Ids other than the case's are what the engine says it ran; judging them is not done here.
    """

    def __init__(self, case: Case) -> None:
        self._case = case
        self._extents = Extents(len(case.token_ids))
        self._seen: set[str] = set()

    def admit(self, observation: Observation) -> None:
        """Raise ObservationError where the engine broke one of the rules."""
        name = observation.name
        if not self._seen:
            _check_token_ids(self._case, observation)
        if name in self._seen:
            where = f"{self._case.case_id}/{name}"
            raise ObservationError(where=where, detail="the same name twice")
        self._extents.admit(name, observation.values.shape)
        self._seen.add(name)

    def end(self) -> None:
        """Raise ObservationError where nothing came."""
        if not self._seen:
            raise ObservationError(where=self._case.case_id, detail="nothing at all")


def admitted(case: Case, observations: Iterable[Observation]) -> Iterator[Observation]:
    """Pass observations on, checked. Raises ObservationError: see `Intake`."""
    intake = Intake(case)
    for observation in observations:
        intake.admit(observation)
        yield observation
        # Else it would live until the next one is there.
        del observation
    intake.end()


def _check_token_ids(case: Case, first: Observation) -> None:
    where = f"{case.case_id}/{first.name}"
    if first.name != "token_ids":
        raise ObservationError(where=where, detail="another array before token_ids")
    if first.values.dtype != np.int64:
        raise ObservationError(where=where, detail=f"dtype {first.values.dtype}, not int64")


def digest_pushed(case: Case, push: Push, work: Work) -> CaseTrace:
    """Run `work` on each observation while it is lent, in the thread of the engine.

    Raises:
        ObservationError: the engine broke a rule of `Intake`.
    """
    intake, digests = Intake(case), list[ArrayDigest]()

    def sink(observation: Observation) -> None:
        intake.admit(observation)
        digests.extend(work(observation))

    push(sink)
    intake.end()
    return CaseTrace(case.case_id, case.digest, in_trace_order(digests))


def digest_stream(case: Case, observations: Iterable[Observation], work: Work) -> CaseTrace:
    """Run `work` on each admitted observation in a background thread and collect the digests.

    A generator that is left early (by an error on either side) is closed.
    """
    digests: list[ArrayDigest] = []
    waiting: deque[tuple[int, Future[Sequence[ArrayDigest]]]] = deque()
    try:
        with ThreadPoolExecutor(1, thread_name_prefix="trace") as pool:
            for observation in admitted(case, observations):
                while _is_full(waiting, observation.values.nbytes):
                    digests.extend(waiting.popleft()[1].result())
                waiting.append((observation.values.nbytes, pool.submit(work, observation)))
                del observation
            for _, future in waiting:
                digests.extend(future.result())
    finally:
        close: Any = getattr(observations, "close", None)
        if close is not None:
            close()
    return CaseTrace(case.case_id, case.digest, in_trace_order(digests))


def _is_full(waiting: deque[tuple[int, Future[Sequence[ArrayDigest]]]], more: int) -> bool:
    held = sum(size for size, future in waiting if not future.done())
    return len(waiting) > WAITING or (held > 0 and held + more > WAITING_BYTES)


def in_trace_order(digests: Iterable[ArrayDigest]) -> tuple[ArrayDigest, ...]:
    """Digests sorted by `trace_order`, whatever order the engine used."""
    return tuple(sorted(digests, key=lambda digest: trace_order(digest.name)))


def hash_only(case: Case, observations: Iterable[Observation]) -> CaseTrace:
    """Digests of a case whose arrays are not kept.

    Raises:
        ObservationError: the stream breaks a rule of `admitted`.
    """
    return digest_stream(case, observations, lambda seen: (ArrayDigest.of(seen),))


def trace_record(
    identity: EngineIdentity, subject: dict[str, Any], cases: Iterable[CaseTrace]
) -> TraceRecord:
    """The record of a run, cases sorted by id, so that its content id knows no order of work."""
    ordered = tuple(sorted(cases, key=lambda case: case.case_id))
    return TraceRecord(identity, dict(subject), ordered)
