"""One file of a repository: streamed to disk while hashing, resumed, and held to its listed ids."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from trlm_lab.acquire.hub_client import HubClient, hub_errors
from trlm_lab.acquire.hub_tree import HubFile
from trlm_lab.acquire.lfs_pointer import read_pointer
from trlm_lab.errors import (
    HubContentError,
    HubLimitError,
    HubUnreachableError,
    LfsPointerError,
)

if TYPE_CHECKING:
    import httpx2

_CHUNK = 1 << 20
PART = ".part"


class _Sum:
    """Both ids of the bytes so far: SHA-256, and the Git blob id of a file of known size."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.restart()

    def restart(self) -> None:
        """As if no byte had come."""
        self.count = 0
        self.sha256 = hashlib.sha256()
        self.git_sha1 = hashlib.sha1(f"blob {self.size}\0".encode(), usedforsecurity=False)

    def add(self, part: bytes) -> None:
        self.count += len(part)
        self.sha256.update(part)
        self.git_sha1.update(part)

    def add_file(self, path: Path) -> None:
        with path.open("rb") as stream:
            while part := stream.read(_CHUNK):
                self.add(part)


def is_whole(path: Path, file: HubFile) -> bool:
    """Whether the bytes at `path` are those that the tree lists."""
    if not path.is_file() or path.is_symlink() or path.stat().st_size != file.size:
        return False
    found = _Sum(file.size)
    found.add_file(path)
    return _matches(found, file)


def _matches(found: _Sum, file: HubFile) -> bool:
    if file.lfs_sha256 is not None:
        return found.sha256.hexdigest() == file.lfs_sha256
    return found.git_sha1.hexdigest() == file.git_sha1


@dataclass(frozen=True)
class Fetch:
    """One file to bring: from where, to where, until when, and whom to tell."""

    client: HubClient
    repo: str
    commit: str
    file: HubFile
    out: Path
    report: Callable[[int], None]

    @property
    def part(self) -> Path:
        """Where the bytes lie until they are whole."""
        return self.out.with_name(self.out.name + PART)

    @property
    def where(self) -> str:
        """The place in errors."""
        return f"hf:{self.repo}@{self.commit}/{self.file.path}"


def fetch(job: Fetch) -> None:
    """Bring a file; what a killed fetch left in `.part` is hashed again and continued.

    Raises:
        HubContentError: other bytes than listed, or more, or the wrong range.
        LfsPointerError: the server sends a pointer for the object.
        HubLimitError: too slow, or too many redirects.
        HubUnreachableError: no whole answer after all attempts.
    """
    job.out.parent.mkdir(parents=True, exist_ok=True)
    limits = job.client.limits
    until = time.monotonic() + limits.file_seconds(job.file.size)
    trouble = ""
    for attempt in range(limits.attempts):
        if attempt:
            time.sleep(limits.pause_seconds * attempt)
        found = _resumed(job)
        try:
            with hub_errors(job.where):
                _receive(job, found, until)
        except HubUnreachableError as error:
            trouble = error.detail
            continue
        if found.count == job.file.size:
            _keep(job, found)
            return
        trouble = f"the answer ended after {found.count} of {job.file.size} bytes"
    detail = f"{trouble}, in {limits.attempts} attempts"
    raise HubUnreachableError(where=job.where, detail=detail)


def _resumed(job: Fetch) -> _Sum:
    found = _Sum(job.file.size)
    if job.part.is_symlink() or (job.part.exists() and job.part.stat().st_size > job.file.size):
        job.part.unlink()
    if job.part.exists():
        found.add_file(job.part)
    return found


def _receive(job: Fetch, found: _Sum, until: float) -> None:
    if found.count == job.file.size and job.file.size:
        return
    request = job.client.file_request(job.repo, job.commit, job.file.path, found.count)
    response = job.client.http.send(request, stream=True)
    try:
        _require_answer(job, response, found)
        with job.part.open("ab") as stream:
            for piece in response.iter_raw():
                found.add(piece)
                _require_bounds(job, found, until)
                stream.write(piece)
                job.report(found.count)
    finally:
        response.close()


def _require_bounds(job: Fetch, found: _Sum, until: float) -> None:
    if found.count > job.file.size:
        job.part.unlink()
        detail = f"more bytes than the {job.file.size} that the tree lists"
        raise HubContentError(where=job.where, detail=detail)
    if time.monotonic() > until:
        detail = f"slower than {job.client.limits.least_rate:.0f} bytes a second"
        raise HubLimitError(where=job.where, detail=detail)


def _require_answer(job: Fetch, response: httpx2.Response, found: _Sum) -> None:
    status, size = response.status_code, job.file.size
    if response.headers.get("content-encoding", "identity") != "identity":
        detail = "the server compresses what was asked for as it is"
        raise HubContentError(where=job.where, detail=detail)
    if status == 206:
        expected = f"bytes {found.count}-{size - 1}/{size}"
        got = response.headers.get("content-range", "")
        if got != expected:
            detail = f"asked for {expected!r}, the server sends {got!r}"
            raise HubContentError(where=job.where, detail=detail)
    elif status in (200, 416):
        # The server knows no ranges, or not this one: from the beginning.
        job.part.unlink(missing_ok=True)
        found.restart()
        if status == 416:
            detail = "the server does not continue the file"
            raise HubUnreachableError(where=job.where, detail=detail)
    elif status in (401, 403, 404):
        detail = f"the tree lists it and the server answers with status {status}"
        raise HubContentError(where=job.where, detail=detail)
    else:
        raise HubUnreachableError(where=job.where, detail=f"status {status}")


def _keep(job: Fetch, found: _Sum) -> None:
    file = job.file
    job.part.touch()
    pointer = read_pointer(job.part)
    if pointer is None and _matches(found, file):
        job.part.replace(job.out)
        return
    job.part.unlink()
    if pointer is not None:
        raise LfsPointerError(where=job.where, oid=pointer.oid, size=pointer.size)
    listed = file.lfs_sha256 or file.git_sha1
    kind = "LFS object" if file.lfs_sha256 else "Git blob"
    raise HubContentError(where=job.where, detail=f"the bytes are not the {kind} {listed}")
