"""Exclusive locks on files, which end with the process, however that ends."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from trlm_lab.errors import LockHeldError


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold the lock at `path`, waiting for another holder; the file itself stays."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle = os.open(path, os.O_CREAT | os.O_RDWR, 0o644)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


@contextmanager
def locked_at_once(path: Path) -> Iterator[None]:
    """Hold the lock at `path` or say at once who holds it; the file keeps the holder's number.

    The system drops the lock when its holder ends, so that the file of a killed one blocks nobody.

    Raises:
        LockHeldError: another process, or another thread of this one, holds it.
    """
    handle = _taken(path)
    while not _names(path, handle):
        # The holder before removed the file: what we hold is a lock that nobody else can see.
        os.close(handle)
        handle = _taken(path)
    try:
        os.ftruncate(handle, 0)
        os.write(handle, f"{os.getpid()}\n".encode())
        yield
    finally:
        os.close(handle)


def _taken(path: Path) -> int:
    """An open file at `path` with its lock. Raises LockHeldError."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle = os.open(path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o644)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        holder = os.read(handle, 32).decode("ascii", "replace").strip()
        os.close(handle)
        raise LockHeldError(where=str(path.parent), holder=holder or "unknown") from None
    return handle


def _names(path: Path, handle: int) -> bool:
    """Whether `path` still is the open file."""
    try:
        return os.path.samestat(path.stat(), os.fstat(handle))
    except FileNotFoundError:
        return False
