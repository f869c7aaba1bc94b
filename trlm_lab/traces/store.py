"""Read access to a trace directory: arrays, digests, verification, an xarray DataTree."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trlm_lab.base.blobs import file_sha256
from trlm_lab.base.records import ArrayDigest, Case, CaseTrace, EngineIdentity, TraceRecord
from trlm_lab.errors import NotATraceError, TraceCorruptError, TraceMissingError
from trlm_lab.traces.checking import verify_case, verify_root
from trlm_lab.traces.documents import (
    DOCUMENT,
    StoredCase,
    chunk_path,
    parse_case,
    parse_header,
    read_document,
)
from trlm_lab.traces.intake import trace_record


class TraceStore:
    """A `TraceView` over a trace directory; only complete cases are seen.

    `identity` and `subject` say who computed and what was run. Reading an array checks its size,
    not its hash; `verify` checks everything.
    """

    def __init__(self, path: Path) -> None:
        """Open a directory.

        Raises:
            NotATraceError: nothing here declares a trace.
            TraceCorruptError: the root document is damaged.
        """
        self.path = path
        if not (path / DOCUMENT).is_file():
            raise NotATraceError(where=str(path), detail=f"there is no {DOCUMENT}")
        document, self._root_bytes = read_document(path / DOCUMENT)
        self.identity: EngineIdentity
        self.subject: dict[str, Any]
        self.identity, self.subject = parse_header(document, str(path / DOCUMENT))

    @cached_property
    def stored(self) -> dict[str, StoredCase]:
        """The complete cases by id, as their groups declare them. Raises TraceCorruptError."""
        found = sorted(p.parent for p in self.path.glob(f"*/{DOCUMENT}"))
        return {directory.name: self._stored(directory) for directory in found}

    def _stored(self, directory: Path) -> StoredCase:
        where = directory / DOCUMENT
        stored = parse_case(*read_document(where), str(where))
        if stored.case.case_id != directory.name:
            detail = f"the group belongs to the case {stored.case.case_id}"
            raise TraceCorruptError(where=str(where), detail=detail)
        return stored

    def record(self) -> TraceRecord:
        """Digests and identity of the whole run, as declared."""
        return trace_record(self.identity, self.subject, (s.trace for s in self.stored.values()))

    @property
    def trace_id(self) -> str:
        """Content id of the run; it knows nothing of chunks, order of writing or machine."""
        return self.record().trace_id

    def case_ids(self) -> tuple[str, ...]:
        """Complete cases, sorted by id."""
        return tuple(self.stored)

    def _find(self, case_id: str) -> StoredCase:
        if case_id not in self.stored:
            raise TraceMissingError(where=str(self.path), kind="case", name=case_id)
        return self.stored[case_id]

    def case(self, case_id: str) -> Case:
        """The input of a case. Raises TraceMissingError."""
        return self._find(case_id).case

    def case_trace(self, case_id: str) -> CaseTrace:
        """Digests of a case. Raises TraceMissingError."""
        return self._find(case_id).trace

    def names(self, case_id: str) -> tuple[str, ...]:
        """Names of the arrays of a case, checkpoints in ladder order. Raises TraceMissingError."""
        return self.case_trace(case_id).names

    def digest(self, case_id: str, name: str) -> ArrayDigest:
        """Declared digest of one array. Raises TraceMissingError."""
        for digest in self.case_trace(case_id).arrays:
            if digest.name == name:
                return digest
        raise TraceMissingError(where=str(self.path / case_id), kind="array", name=name)

    def read(self, case_id: str, name: str) -> NDArray[Any]:
        """One array, owned by the caller.

        Raises:
            TraceMissingError: no such case or array.
            TraceCorruptError: its file is lost or has another size.
        """
        digest = self.digest(case_id, name)
        path = self.path / case_id / chunk_path(name, len(digest.shape))
        count, little = math.prod(digest.shape), np.dtype(digest.dtype).newbyteorder("<")
        size = path.stat().st_size if path.is_file() else -1
        if size != count * little.itemsize:
            detail = "the file is lost" if size < 0 else f"{size} bytes for {list(digest.shape)}"
            raise TraceCorruptError(where=str(path), detail=detail)
        values = np.fromfile(path, dtype=little, count=count).reshape(digest.shape)
        return values.astype(digest.dtype, copy=False)

    def verify(self, hash_of: Callable[[Path], str] = file_sha256) -> TraceRecord:
        """Recompute every digest from the stored files and compare every metadata byte.

        `hash_of` gives the SHA-256 of a file; whoever has just hashed them need not do it again.

        Raises:
            TraceCorruptError: at the first file that is changed, lost or foreign.
        """
        for case_id, stored in self.stored.items():
            verify_case(self.path / case_id, stored, hash_of)
        verify_root(self.path, self._root_bytes, self.identity, self.subject, self.stored)
        return self.record()

    def as_datatree(self) -> Any:
        """The `xarray.DataTree`: one group a case, arrays loaded when touched."""
        import xarray

        return xarray.open_datatree(self.path, engine="zarr")
