"""Verification of a trace directory: every byte of every file follows from the declared digests."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from trlm_lab.base.records import EngineIdentity
from trlm_lab.errors import TraceCorruptError
from trlm_lab.traces.documents import (
    DOCUMENT,
    StoredCase,
    array_documents,
    case_document,
    header_document,
    root_document,
    to_bytes,
)
from trlm_lab.traces.shards import ShardFile
from trlm_lab.traces.slabs import check_slabs, require_files

#: Leftovers of an interrupted atomic write; the writer removes them, readers pass over them.
TEMPORARY = ".tmp-"


def verify_case(directory: Path, stored: StoredCase) -> None:
    """Compare all files of a complete case with its declarations.

    Raises:
        TraceCorruptError: at the first file that is changed, lost or foreign.
    """
    _require_bytes(directory / DOCUMENT, to_bytes(case_document(stored)))
    documents = array_documents(stored)
    for name, document in documents.items():
        _require_bytes(directory / name / DOCUMENT, to_bytes(document))
    expected = {directory / DOCUMENT, *(directory / name / DOCUMENT for name in documents)}
    arrays = stored.arrays
    for array in arrays:
        require_files(directory, array)
        for file in array.files():
            _require_gaps(directory / array.name / file.name, file)
            expected.add(directory / array.name / file.name)
    for array in arrays:
        check_slabs(directory, array)
    _require_nothing_else(directory, expected)


def verify_root(
    root: Path,
    data: bytes,
    identity: EngineIdentity,
    subject: dict[str, Any],
    cases: dict[str, StoredCase],
) -> None:
    """Compare the root document with the engine, the subject and the complete cases.

    Raises:
        TraceCorruptError: a byte differs, a listed case is lost, or a file is foreign.
    """
    if data != to_bytes(root_document(header_document(identity, subject), cases)):
        detail = "its list of cases contradicts the case groups"
        raise TraceCorruptError(where=str(root / DOCUMENT), detail=detail)
    for path in root.iterdir():
        if path.is_file() and path.name != DOCUMENT and not path.name.startswith(TEMPORARY):
            raise TraceCorruptError(where=str(path), detail="a foreign file")


def _require_file(path: Path) -> None:
    if not path.is_file():
        raise TraceCorruptError(where=str(path), detail="the file is lost")


def _require_bytes(path: Path, expected: bytes) -> None:
    _require_file(path)
    if path.read_bytes() != expected:
        raise TraceCorruptError(where=str(path), detail="its bytes contradict the digests")


def _require_gaps(path: Path, file: ShardFile) -> None:
    """Zeros where a layer is absent."""
    with path.open("rb") as stream:
        for begin, end in file.gaps:
            stream.seek(begin)
            if stream.read(end - begin).strip(b"\0"):
                raise TraceCorruptError(where=str(path), detail="bytes where no layer is declared")


def _require_nothing_else(directory: Path, expected: set[Path]) -> None:
    for path in sorted(directory.rglob("*")):
        if path.is_file() and path not in expected:
            raise TraceCorruptError(where=str(path), detail="a foreign file")
