"""Reading a golden directory: the strict document, every blob by hash, and findings for `check`."""

from __future__ import annotations

import stat
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trlm_lab.base import canon
from trlm_lab.base.blobs import file_sha256
from trlm_lab.errors import (
    GoldenBlobHashError,
    GoldenBlobLengthError,
    GoldenBlobMissingError,
    GoldenCaseMissingError,
    GoldenError,
    GoldenSizeError,
)
from trlm_lab.golden.cbor import decode
from trlm_lab.golden.limits import FILE_BYTES
from trlm_lab.golden.record import GoldenCase, GoldenObservation
from trlm_lab.golden.schema import parse_case

CASE_FILE = "case.cbor"
BLOBS = "blobs"


@dataclass(frozen=True)
class Golden:
    """A container that was read: its directory, the bytes of its document and what they say."""

    root: Path
    data: bytes
    case: GoldenCase

    @property
    def sha256(self) -> str:
        """SHA-256 of the document; with its blob names it covers every byte of the case."""
        return canon.sha256_hex(self.data)

    def blob(self, observation: GoldenObservation) -> bytes:
        """The checked bytes of one array.

        Raises:
            GoldenBlobMissingError, GoldenBlobLengthError, GoldenBlobHashError.
        """
        where = f"{BLOBS}/{observation.sha256}"
        check_blob(self.root, observation)
        data = (self.root / where).read_bytes()
        got = canon.sha256_hex(data)
        if got != observation.sha256:
            raise GoldenBlobHashError(where=where, got=got)
        return data


def golden_root(path: Path) -> Path:
    """The directory of a case, named itself or by its `case.cbor`."""
    return path if path.is_dir() else path.parent


def read_document(data: bytes) -> GoldenCase:
    """Judge the bytes of a `case.cbor`. Raises GoldenError."""
    return parse_case(decode(data))


def read_golden(path: Path) -> Golden:
    """Read the document of a case; blobs are checked when they are read.

    Raises:
        GoldenError: the first broken rule.
    """
    root = golden_root(path)
    file = root / CASE_FILE if path.is_dir() else path
    size = _size(file)
    if size is None:
        raise GoldenCaseMissingError(where=CASE_FILE)
    if size > FILE_BYTES:
        raise GoldenSizeError(where=CASE_FILE, limit=FILE_BYTES, unit="bytes")
    data = file.read_bytes()
    return Golden(root, data, read_document(data))


def check_blob(root: Path, observation: GoldenObservation) -> None:
    """Kind and length of a blob, before any of it is read.

    Raises:
        GoldenBlobMissingError, GoldenBlobLengthError.
    """
    where = f"{BLOBS}/{observation.sha256}"
    size = _size(root / where)
    if size is None:
        raise GoldenBlobMissingError(where=where)
    if size != observation.nbytes:
        raise GoldenBlobLengthError(where=where, got=size, wanted=observation.nbytes)


def check_golden(path: Path) -> list[dict[str, Any]]:
    """Every finding about a case; notes have the level `note`, everything else refuses.

    The document stops at its first broken rule; blobs are all looked at.
    """
    try:
        golden = read_golden(path)
    except GoldenError as error:
        return [error.as_finding()]
    findings = _check_blobs(golden)
    return findings + [_foreign(name) for name in foreign_names(golden)]


def _check_blobs(golden: Golden) -> list[dict[str, Any]]:
    found: dict[tuple[str, str], dict[str, Any]] = {}
    hashes: dict[str, str] = {}
    for observation in golden.case.observations:
        try:
            check_blob(golden.root, observation)
            name = observation.sha256
            if name not in hashes:
                hashes[name] = file_sha256(golden.root / BLOBS / name)
            if hashes[name] != name:
                raise GoldenBlobHashError(where=f"{BLOBS}/{name}", got=hashes[name])
        except GoldenError as error:
            found.setdefault((error.code, error.where), error.as_finding())
    return list(found.values())


def foreign_names(golden: Golden) -> list[str]:
    """Entries of the directory of which the document does not speak, sorted."""
    named = {observation.sha256 for observation in golden.case.observations}
    beside = {p.name for p in golden.root.iterdir()} - {CASE_FILE, BLOBS}
    blobs = golden.root / BLOBS
    inside = {p.name for p in blobs.iterdir()} - named if blobs.is_dir() else set()
    return sorted(beside | {f"{BLOBS}/{name}" for name in inside})


def _foreign(name: str) -> dict[str, Any]:
    return {
        "code": "GOLDEN_FOREIGN",
        "where": name,
        "detail": "the document does not speak of it, and nothing verifies it",
        "fix": "remove it",
        "level": "note",
    }


def _size(path: Path) -> int | None:
    """Length of a regular file; None for anything else, links among them."""
    try:
        found = path.lstat()
    except OSError:
        return None
    return found.st_size if stat.S_ISREG(found.st_mode) else None
