"""Read access to a trace directory: arrays, digests, verification, an xarray DataTree."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from trlm_lab.base.records import ArrayDigest, Case, CaseTrace, EngineIdentity, TraceRecord
from trlm_lab.errors import NotATraceError, TraceCorruptError, TraceMissingError
from trlm_lab.traces.checking import TEMPORARY, verify_case, verify_root
from trlm_lab.traces.documents import (
    DOCUMENT,
    StoredCase,
    parse_case,
    parse_header,
    read_document,
)
from trlm_lab.traces.intake import trace_record
from trlm_lab.traces.picks import Pick
from trlm_lab.traces.places import PICKED, STATISTICS, stands_for
from trlm_lab.traces.slabs import read_slab, require_files
from trlm_lab.traces.statistics import FIGURES


class TraceStore:
    """A `TraceView` over a trace directory; only complete cases are seen.

    `identity` and `subject` say who computed and what was run. Whatever is read is hashed; `verify`
    checks everything. Of a checkpoint of which picked rows alone are kept, these are the array;
    one of which there are only statistics has no array, and no name in `names`.
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
        return {
            directory.name: self._stored(directory)
            for directory in found
            if not directory.name.startswith(TEMPORARY)
        }

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
        found = (stands_for(name) for name in self.case_trace(case_id).names)
        return tuple(dict.fromkeys(name for name, suffix in found if suffix != STATISTICS))

    def digest(self, case_id: str, name: str) -> ArrayDigest:
        """Declared digest of one array. Raises TraceMissingError."""
        found = {array.name: array for array in self.case_trace(case_id).arrays}
        for held in (name, name + PICKED):
            if held in found:
                return found[held]
        raise TraceMissingError(where=str(self.path / case_id), kind="array", name=name)

    def read(self, case_id: str, name: str) -> NDArray[Any]:
        """One array, owned by the caller.

        Raises:
            TraceMissingError: no such case or array.
            TraceCorruptError: its file is lost, torn or changed.
        """
        return read_slab(self.path / case_id, self.digest(case_id, name))

    def pick(self, case_id: str, name: str) -> Pick | None:
        """The heads and query rows that `read` gives of a square; None where it gives the whole.

        Raises:
            TraceMissingError: no such case or array.
        """
        picked = self.digest(case_id, name).name.endswith(PICKED)
        return self._find(case_id).pick if picked and not name.endswith(PICKED) else None

    def summarised(self, case_id: str) -> tuple[str, ...]:
        """Checkpoints of which there are statistics, in ladder order. Raises TraceMissingError."""
        found = (stands_for(name) for name in self.case_trace(case_id).names)
        return tuple(name for name, suffix in found if suffix == STATISTICS)

    def statistics(self, case_id: str, name: str) -> dict[str, float]:
        """The figures of a checkpoint. Raises as `read`."""
        row = self.read(case_id, name + STATISTICS)
        return dict(zip(FIGURES, row.tolist(), strict=True))

    def verify(self) -> TraceRecord:
        """Recompute every digest from the stored files and compare every metadata byte.

        Raises:
            TraceCorruptError: at the first file that is changed, lost or foreign.
        """
        verify_root(self.path, self._root_bytes, self.identity, self.subject, self.stored)
        for case_id, stored in self.stored.items():
            verify_case(self.path / case_id, stored)
        return self.record()

    def as_datatree(self) -> Any:
        """The `xarray.DataTree`: one group a case, arrays loaded when touched.

        Raises:
            TraceCorruptError: a file is lost or torn, for which zarr would give its fill value.
        """
        import xarray

        for case_id, stored in self.stored.items():
            for array in stored.arrays:
                require_files(self.path / case_id, array)
        return xarray.open_datatree(self.path, engine="zarr")
