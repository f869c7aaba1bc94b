"""The one way to open a file that someone names: never waits, and takes plain files only.

A pipe without a writer blocks whoever opens it, a device may have no end, and a size is said of
neither. The kind is therefore looked at before the file is opened, and again on what was opened.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from trlm_lab.errors import NotPlainFileError

_KINDS = (
    (stat.S_ISDIR, "a directory"),
    (stat.S_ISFIFO, "a named pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a character device"),
    (stat.S_ISBLK, "a block device"),
)


def kind_of(status: os.stat_result) -> str:
    """What stands there that is no plain file, in words."""
    return next((name for test, name in _KINDS if test(status.st_mode)), "something else")


def require_plain(path: Path) -> os.stat_result:
    """The status of a plain file, links followed; nothing is opened.

    Raises:
        NotPlainFileError: a directory, pipe, socket or device.
        OSError: nothing is there, or it may not be looked at.
    """
    return _plain(path.stat(), path)


def open_plain(path: Path) -> BinaryIO:
    """Open a plain file for reading, without ever waiting for it.

    Raises:
        NotPlainFileError: a directory, pipe, socket or device.
        OSError: nothing is there, or it may not be read.
    """
    require_plain(path)
    handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        # Between the two looks the name may have been given to something else.
        _plain(os.fstat(handle), path)
        return os.fdopen(handle, "rb")
    except BaseException:
        os.close(handle)
        raise


def read_plain(path: Path) -> bytes:
    """The bytes of a plain file. Raises as `open_plain`."""
    with open_plain(path) as stream:
        return stream.read()


def read_start(path: str | Path, limit: int) -> bytes:
    """The bytes of a plain file, at most `limit` of them and one more. Raises as `open_plain`."""
    parts: list[bytes] = []
    left = limit + 1
    for chunk in chunks(path):
        parts.append(chunk[:left])
        left -= len(chunk)
        if left <= 0:
            break
    return parts[0] if len(parts) == 1 else b"".join(parts)


def chunks(path: str | Path, size: int = 1 << 20) -> Iterator[bytes]:
    """The bytes of a plain file in chunks, a small file in one. Raises as `open_plain`.

    Without a buffer in between, whose making costs more than many a file's reading.
    """
    _plain(os.stat(path), path)  # noqa: PTH116 - a path object for each file costs more
    handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        asked = min(_plain(os.fstat(handle), path).st_size, size) + 1
        while chunk := os.read(handle, asked):
            yield chunk
    finally:
        os.close(handle)


def _plain(status: os.stat_result, path: str | Path) -> os.stat_result:
    if not stat.S_ISREG(status.st_mode):
        raise NotPlainFileError(where=str(path), kind=kind_of(status))
    return status
