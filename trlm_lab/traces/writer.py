"""Write a trace directory: case by case, layer by layer, resumable after a kill.

Chunks are not flushed one by one; after a power cut `verify` finds what was lost, and a capture
with `verify_kept` writes such a case again.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from trlm_lab.base import canon
from trlm_lab.base.blobs import write_atomically
from trlm_lab.base.records import (
    ArrayDigest,
    Case,
    CaseTrace,
    EngineIdentity,
    Observation,
    TraceRecord,
)
from trlm_lab.errors import TraceCorruptError, TraceSubjectError
from trlm_lab.traces.checking import TEMPORARY, verify_case
from trlm_lab.traces.documents import (
    DOCUMENT,
    StoredCase,
    array_documents,
    case_document,
    chunk_path,
    header_document,
    root_document,
    to_bytes,
)
from trlm_lab.traces.intake import digest_stream, trace_record
from trlm_lab.traces.store import TraceStore


class TraceWriter:
    """Fills one trace directory for one engine and one subject; complete cases are kept."""

    def __init__(
        self,
        path: Path,
        identity: EngineIdentity,
        subject: dict[str, Any],
        *,
        verify_kept: bool = False,
    ) -> None:
        """Create the directory or go on with it.

        With `verify_kept`, a complete case is kept only if all its files verify.

        Raises:
            TraceSubjectError: the directory holds a run of another engine or subject.
            NotATraceError: the directory holds something else.
            TraceCorruptError: its root document is damaged.
        """
        self.path = path
        self.identity = identity
        self.subject = dict(subject)
        self._verify_kept = verify_kept
        self._header = header_document(identity, self.subject)
        self._cases: dict[str, StoredCase] = {}
        if path.exists():
            self._go_on()
        self._publish()

    def _go_on(self) -> None:
        for leftover in self.path.glob(f"{TEMPORARY}*"):
            leftover.unlink()
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
        stored = self._cases.get(case.case_id)
        if stored is None:
            return None
        if stored.case.digest != case.digest:
            facts = {"found": stored.case.digest, "wanted": case.digest}
            raise TraceSubjectError(where=str(self.path), part=f"case {case.case_id}", **facts)
        if self._verify_kept and not self._verifies(stored):
            return None
        return stored.trace

    def _verifies(self, stored: StoredCase) -> bool:
        try:
            verify_case(self.path / stored.case.case_id, stored)
        except TraceCorruptError:
            return False
        return True

    def write_case(self, case: Case, observations: Iterable[Observation]) -> CaseTrace:
        """Store a case as it streams; a kept case consumes nothing, a partial one starts anew.

        Raises:
            ObservationError: the stream breaks a rule of `intake.admitted`.
            TraceSubjectError: a case of this id but with other inputs is there.
        """
        kept = self.kept(case)
        if kept is not None:
            return kept
        directory = self.path / case.case_id
        if self._cases.pop(case.case_id, None) is not None:
            self._publish()
        shutil.rmtree(directory, ignore_errors=True)
        directory.mkdir()

        def store(observation: Observation) -> ArrayDigest:
            return _store(directory, observation)

        stored = StoredCase(case, digest_stream(case, observations, store))
        self._complete(directory, stored)
        return stored.trace

    def _complete(self, directory: Path, stored: StoredCase) -> None:
        """Write the metadata; the case group comes last and is the mark of completion."""
        for array, document in array_documents(stored.trace).items():
            (directory / array / DOCUMENT).write_bytes(to_bytes(document))
        write_atomically(directory / DOCUMENT, to_bytes(case_document(stored)))
        self._cases[stored.case.case_id] = stored
        self._publish()

    def _publish(self) -> None:
        document = to_bytes(root_document(self._header, self._cases))
        write_atomically(self.path / DOCUMENT, document)

    def record(self) -> TraceRecord:
        """Digests and identity of all complete cases."""
        return trace_record(self.identity, self.subject, (s.trace for s in self._cases.values()))


def _flat(value: Any, prefix: str = "") -> dict[str, str]:
    """Leaves of nested maps by dotted path, in order of the paths, as texts."""
    if not isinstance(value, dict):
        return {prefix: repr(list(value) if isinstance(value, tuple) else value)}
    leaves: dict[str, str] = {}
    for key in sorted(value):
        leaves |= _flat(value[key], f"{prefix}.{key}" if prefix else key)
    return leaves


def _store(directory: Path, observation: Observation) -> ArrayDigest:
    """Write one slab and hash the very bytes that were written."""
    values = observation.values
    little = np.ascontiguousarray(values, dtype=values.dtype.newbyteorder("<"))
    raw = little.reshape(-1).view(np.uint8).data
    path = directory / chunk_path(observation.name, values.ndim)
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(raw)
    return ArrayDigest(observation.name, values.dtype.name, values.shape, canon.sha256_hex(raw))
