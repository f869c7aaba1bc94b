"""The files that a root node lists: path, size and SHA-256 of each."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from trlm_lab.base.blobs import file_sha256
from trlm_lab.errors import TrlmError
from trlm_lab.receipts.entries import Entries, entries
from trlm_lab.receipts.findings import Progress, VerifyReport, silent
from trlm_lab.receipts.receipt_file import RECEIPT_FILE, is_id

#: Held while a run writes; its content is the number of that process and no evidence.
LOCK_FILE = ".lock"
_BATCH = 64
#: What speaks of the sealed receipt and is checked on its own.
ATTESTATIONS = "attestations"


def of_the_store(relative: str) -> bool:
    """Whether a path belongs to the store itself, and not to the files that it speaks of."""
    top = relative.partition("/")[0]
    return top in ("nodes", "blobs", ATTESTATIONS) or relative in (RECEIPT_FILE, LOCK_FILE)


def list_files(directory: Path, progress: Progress = silent) -> list[list[Any]]:
    """Rows (path, size, SHA-256) of every file outside the store itself, sorted by path."""
    paths = sorted(r for r in entries(directory).files if not of_the_store(r))
    rows: list[list[Any]] = []
    for done, relative in enumerate(paths):
        progress("list and hash every file", done, len(paths))
        path = directory / relative
        rows.append([relative, path.stat().st_size, file_sha256(path)])
    progress("list and hash every file", len(paths), len(paths))
    return rows


def check_files(
    directory: Path,
    rows: Any,
    report: VerifyReport,
    progress: Progress = silent,
    *,
    found: Entries | None = None,
) -> None:
    """Check listed files (path, size, SHA-256) below `directory`; unlisted ones are notes."""
    if not _well_formed(rows):
        detail = "files_blob is no list of (path, size, SHA-256), each path once"
        report.fail("FILES_MALFORMED", str(directory), detail)
        return
    here = entries(directory) if found is None else found
    batches = [rows[first : first + _BATCH] for first in range(0, len(rows), _BATCH)]
    done = 0
    # Reading and hashing leave the interpreter's lock; the report is this thread's alone.
    with ThreadPoolExecutor(max_workers=2) as pool:
        hashed = pool.map(lambda batch: [_hashed(directory, row, here) for row in batch], batches)
        for batch, found_hashes in zip(batches, hashed, strict=True):
            for row, found_hash in zip(batch, found_hashes, strict=True):
                _check_file(directory, row, here, report, found_hash)
            done += len(batch)
            progress("check every listed file", done, len(rows))
    listed = {row[0] for row in rows}
    for relative in sorted(here.files - listed):
        if not of_the_store(relative):
            report.note("FILE_UNLISTED", str(directory / relative), "no receipt speaks of it")


def _well_formed(rows: Any) -> bool:
    if not isinstance(rows, list) or not all(isinstance(r, list) and len(r) == 3 for r in rows):
        return False
    typed = all(isinstance(p, str) and type(s) is int and is_id(h) for p, s, h in rows)
    if not typed:
        return False
    paths = [row[0] for row in rows]
    return len(paths) == len(set(paths))


def _hashed(directory: Path, row: list[Any], here: Entries) -> str | Exception:
    """The SHA-256 of a listed file; empty where it is not there, or of another size."""
    relative, size, _ = row
    if relative not in here.files:
        return ""
    path = directory / relative
    try:
        return file_sha256(path) if path.stat().st_size == size else ""
    except (OSError, TrlmError) as error:
        return error


def _check_file(
    directory: Path,
    row: list[Any],
    here: Entries,
    report: VerifyReport,
    found: str | Exception,
) -> None:
    relative, size, sha256 = row
    place = str(directory / relative) if "\0" not in relative else repr(relative)
    way = _way_out(relative, here)
    if way:
        report.fail("PATH_OUTSIDE", place, way)
    elif relative not in here.files:
        report.fail("FILE_MISSING", place, "listed in the receipt and not here")
    elif isinstance(found, Exception):
        report.fail("FILE_UNREADABLE", place, f"{type(found).__name__}: {found}")
    elif found != sha256:
        report.fail("FILE_CORRUPT", place, f"is not the {size} bytes with hash {sha256}")
    else:
        report.files += 1
        report.hashes[relative] = sha256


def _way_out(relative: str, here: Entries) -> str:
    """Why a listed path may lead out of the directory, or empty."""
    parts = relative.split("/")
    if relative.startswith("/"):
        return "a listed path is relative"
    if ".." in parts or "\0" in relative or "\\" in relative:
        return "a listed path has no '..', no backslash and no NUL"
    if "" in parts or "." in parts:
        return "a listed path is in its normal form, without empty parts and '.'"
    for count in range(1, len(parts) + 1) if here.odd else ():
        ancestor = "/".join(parts[:count])
        if ancestor in here.odd:
            return f"{ancestor} is {here.odd[ancestor]}"
    return ""
