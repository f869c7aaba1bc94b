"""What killed runs leave behind, and its removal; unfinished work never has a final name."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil

#: An unfinished entry of a shared cache that nobody touched for this long has no owner, seconds.
ABANDONED = 24 * 3600.0
_MARKS = (".tmp-*", ".building-*")


def sweep_cache(home: Path) -> list[Path]:
    """Remove unfinished entries of the cache that are a day old; others may be at work there."""
    found = [p for mark in _MARKS for depth in ("*", "*/*") for p in home.glob(f"{depth}/{mark}")]
    return _remove(p for p in found if time.time() - _touched(p) > ABANDONED)


def sweep_run(out: Path) -> list[Path]:
    """Remove unfinished entries of a run's directory; call it with the directory's lock held."""
    return _remove(list(out.rglob(".tmp-*")))


@contextmanager
def aside(out: Path) -> Iterator[Path]:
    """A free name beside `out` for unfinished work; whatever still has it at the end goes.

    The name carries the process number, and those of processes that are gone are removed first.
    Folders that were made for it and are empty at the end go as well.
    """
    with no_empty_folders(out.parent):
        out.parent.mkdir(parents=True, exist_ok=True)
        _remove(p for p in out.parent.glob(f".{glob_text(out.name)}.*.part") if _orphan(p))
        place = out.with_name(f".{out.name}.{os.getpid()}.part")
        _remove([place])
        try:
            yield place
        finally:
            _remove([place])


@contextmanager
def no_empty_folders(path: Path) -> Iterator[None]:
    """Of the folder `path` and those above it, whichever is made meanwhile and stays empty goes."""
    made = absent_folders(path)
    try:
        yield
    finally:
        remove_empty(made)


def absent_folders(path: Path) -> list[Path]:
    """The folder `path` and those above it that are not there yet, the deepest first."""
    return [folder for folder in (path, *path.parents) if not folder.exists()]


def remove_empty(folders: Iterable[Path]) -> None:
    """Remove folders, the deepest first, up to one that somebody has put something into."""
    with suppress(OSError):
        for folder in folders:
            folder.rmdir()


def empty(folder: Path, *, last: str) -> None:
    """Remove all that lies in a folder, the entry named `last` after the others."""
    _remove(sorted(folder.iterdir(), key=lambda path: path.name == last))


def glob_text(name: str) -> str:
    """A name with every pattern character taken literally."""
    return "".join(f"[{c}]" if c in "*?[" else c for c in name)


def _orphan(path: Path) -> bool:
    owner = path.name.split(".")[-2]
    return owner.isdigit() and not psutil.pid_exists(int(owner))


def _touched(path: Path) -> float:
    """The latest change of an entry or of anything directly in it; now where it has just gone."""
    try:
        inside = [p.stat().st_mtime for p in path.iterdir()] if path.is_dir() else []
        return max([path.stat().st_mtime, *inside])
    except OSError:
        return time.time()


def _remove(paths: Iterator[Path] | list[Path]) -> list[Path]:
    removed = []
    for path in paths:
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path, ignore_errors=True)
        else:
            with suppress(OSError):
                path.unlink(missing_ok=True)
        if not path.exists():
            removed.append(path)
    return removed
