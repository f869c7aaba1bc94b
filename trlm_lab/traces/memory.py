"""A trace in memory: small runs, tests, and views over arrays that are at hand."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from numpy.typing import NDArray

from trlm_lab.base.records import (
    ArrayDigest,
    Case,
    CaseTrace,
    EngineIdentity,
    Observation,
    TraceRecord,
)
from trlm_lab.errors import TraceMissingError
from trlm_lab.traces.intake import digest_stream, trace_record


class MemoryTrace:
    """A `TraceView` over observations held in memory; filled case by case like a `TraceWriter`."""

    def __init__(self, identity: EngineIdentity, subject: dict[str, Any] | None = None) -> None:
        self.identity = identity
        self.subject = dict(subject or {})
        self._cases: dict[str, CaseTrace] = {}
        self._arrays: dict[tuple[str, str], NDArray[Any]] = {}

    def write_case(self, case: Case, observations: Iterable[Observation]) -> CaseTrace:
        """Keep the arrays of a case; a case of the same id is replaced.

        Raises:
            ObservationError: the stream breaks a rule of `intake.admitted`.
        """
        held: dict[tuple[str, str], NDArray[Any]] = {}

        def keep(observation: Observation) -> tuple[ArrayDigest]:
            held[case.case_id, observation.name] = observation.values
            return (ArrayDigest.of(observation),)

        trace = digest_stream(case, observations, keep)
        self._arrays = {k: v for k, v in self._arrays.items() if k[0] != case.case_id} | held
        self._cases[case.case_id] = trace
        return trace

    def record(self) -> TraceRecord:
        """Digests and identity of the whole run."""
        return trace_record(self.identity, self.subject, self._cases.values())

    @property
    def trace_id(self) -> str:
        """Content id of the run."""
        return self.record().trace_id

    def case_ids(self) -> tuple[str, ...]:
        """Cases, sorted by id."""
        return tuple(sorted(self._cases))

    def case_trace(self, case_id: str) -> CaseTrace:
        """Digests of one case. Raises TraceMissingError."""
        if case_id not in self._cases:
            raise TraceMissingError(where="memory", kind="case", name=case_id)
        return self._cases[case_id]

    def names(self, case_id: str) -> tuple[str, ...]:
        """Names of the arrays of a case, checkpoints in ladder order. Raises TraceMissingError."""
        return self.case_trace(case_id).names

    def read(self, case_id: str, name: str) -> NDArray[Any]:
        """One array. Raises TraceMissingError."""
        self.case_trace(case_id)
        if (case_id, name) not in self._arrays:
            raise TraceMissingError(where=f"memory, case {case_id}", kind="array", name=name)
        return self._arrays[case_id, name]
