"""Write a trace directory: case by case, layer by layer, resumable after a kill.

A case grows in a directory of a temporary name, every slab at its final place in its file, and gets
its own name by one rename when it is whole. Files are not flushed one by one; after a power cut
reading and `verify` find what was lost, and a capture with `verify_kept` writes such a case again.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from trlm_lab.base.blobs import write_atomically
from trlm_lab.base.records import (
    ArrayDigest,
    Case,
    CaseTrace,
    EngineIdentity,
    Observation,
    TraceRecord,
)
from trlm_lab.errors import TraceChangedError, TraceCorruptError, TraceSubjectError
from trlm_lab.traces.case_files import CaseFiles, removed
from trlm_lab.traces.checking import TEMPORARY, verify_case
from trlm_lab.traces.documents import (
    DOCUMENT,
    StoredCase,
    header_document,
    root_document,
    to_bytes,
)
from trlm_lab.traces.intake import Push, digest_pushed, digest_stream, trace_record
from trlm_lab.traces.keeping import CaseKeeping, Keeping, meets
from trlm_lab.traces.places import PICKED
from trlm_lab.traces.store import TraceStore

#: Up to so many cases the root document is written after each.
FEW = 64


class TraceWriter:
    """Fills one trace directory for one engine and one subject; complete cases are kept."""

    def __init__(
        self,
        path: Path,
        identity: EngineIdentity,
        subject: dict[str, Any],
        *,
        keeping: Keeping = Keeping(),  # noqa: B008 - frozen
        verify_kept: bool = False,
    ) -> None:
        """Create the directory or go on with it; `keeping` says how much of each checkpoint.

        With `verify_kept`, a complete case is kept only if all its files verify.

        Raises:
            TraceSubjectError: the directory holds a run of another engine or subject.
            NotATraceError: the directory holds something else.
            TraceCorruptError: its root document is damaged.
        """
        self.path = path
        self.identity = identity
        self.subject = dict(subject)
        self._keeping = keeping
        self._verify_kept = verify_kept
        self._header = header_document(identity, self.subject)
        self._cases: dict[str, StoredCase] = {}
        self._unpublished = 0
        if path.exists():
            self._go_on()
        self._publish()

    def _go_on(self) -> None:
        for leftover in self.path.glob(f"{TEMPORARY}*"):
            removed(leftover)
        if not any(self.path.iterdir()):
            return
        store = TraceStore(self.path)
        found = header_document(store.identity, store.subject)
        if to_bytes(found) != to_bytes(self._header):
            raise TraceSubjectError(where=str(self.path), **self._difference(found))
        self._cases = dict(store.stored)

    def _difference(self, found: dict[str, Any]) -> dict[str, str]:
        """The first field of engine or subject that differs."""
        there, here = _flat(found["attributes"]), _flat(self._header["attributes"])
        parts = [key for key in {**here, **there} if key != "record_sha256"]
        part = next(key for key in parts if here.get(key) != there.get(key))
        return {"part": part, "found": str(there.get(part)), "wanted": str(here.get(part))}

    def kept(self, case: Case) -> CaseTrace | None:
        """The digests of a complete case that need not run again, or None.

        Raises:
            TraceSubjectError: a case of this id but with other inputs is there.
        """
        stored = self._sound(case)
        return stored.trace if stored and meets(stored, self._keeping) else None

    def _sound(self, case: Case) -> StoredCase | None:
        """The case as it is stored, or None where it is not or not well."""
        stored = self._cases.get(case.case_id)
        if stored is None:
            return None
        if stored.case.digest != case.digest:
            facts = {"found": stored.case.digest, "wanted": case.digest}
            raise TraceSubjectError(where=str(self.path), part=f"case {case.case_id}", **facts)
        return stored if not self._verify_kept or self._verifies(stored) else None

    def _verifies(self, stored: StoredCase) -> bool:
        try:
            verify_case(self.path / stored.case.case_id, stored)
        except TraceCorruptError:
            return False
        return True

    def write_case(self, case: Case, observations: Iterable[Observation] | Push) -> CaseTrace:
        """Store a case as it streams; a kept case consumes nothing, a partial one starts anew.

        `observations` are a stream, or a function that lends them one by one to a sink. A case that
        is there but holds less than is wished for is taken again with both.

        Raises:
            ObservationError: the stream breaks a rule of `intake.admitted`.
            TraceSubjectError: a case of this id but with other inputs is there.
            TraceChangedError: the engine gives other values than it did for what is there.
            UsageError: the case lacks a declared head or query row.
        """
        held = self._sound(case)
        if held and meets(held, self._keeping):
            return held.trace
        keeping = CaseKeeping(self._keeping, len(case.token_ids), held)
        with CaseFiles(self.path, case.case_id) as files:

            def work(seen: Observation) -> list[ArrayDigest]:
                return [files.put(*kept) for kept in keeping.kept(seen.name, seen.values)]

            if callable(observations):
                trace = digest_pushed(case, observations, work)
            else:
                trace = digest_stream(case, observations, work)
            stored = StoredCase(case, trace, keeping.pick)
            if held:
                _require_unchanged(held, stored)
            files.complete(stored)
        self._cases[case.case_id] = stored
        self._unpublished += 1
        # The root names every case: to write it after each of many would cost their square.
        if len(self._cases) <= FEW or self._unpublished * 8 > len(self._cases):
            self._publish()
        return trace

    def _publish(self) -> None:
        document = to_bytes(root_document(self._header, self._cases))
        write_atomically(self.path / DOCUMENT, document)
        self._unpublished = 0

    def record(self) -> TraceRecord:
        """Digests and identity of all complete cases; the root names them from then on."""
        if self._unpublished:
            self._publish()
        return trace_record(self.identity, self.subject, (s.trace for s in self._cases.values()))


def _flat(value: Any, prefix: str = "") -> dict[str, str]:
    """Leaves of nested maps by dotted path, in order of the paths, as texts."""
    if not isinstance(value, dict):
        return {prefix: repr(list(value) if isinstance(value, tuple) else value)}
    leaves: dict[str, str] = {}
    for key in sorted(value):
        leaves |= _flat(value[key], f"{prefix}.{key}" if prefix else key)
    return leaves


def _require_unchanged(held: StoredCase, again: StoredCase) -> None:
    """Raise TraceChangedError where an array of both has another digest."""
    before = {array.name: array for array in held.trace.arrays}
    for array in again.trace.arrays:
        known = before.get(array.name)
        other_rows = array.name.endswith(PICKED) and held.pick != again.pick
        if known is not None and known != array and not other_rows:
            where = f"{held.case.case_id}/{array.name}"
            raise TraceChangedError(where=where, found=array.sha256, held=known.sha256)
