"""What lies in the cache, and the part of it that can be made again.

Artifacts, calibrated codes, derived weights, peer files and native builds are named by what they
were made of, so that each change of a converter, packer or kernel leaves the former ones behind.
Nothing refers to them but a command that would use them again; whoever misses one makes it anew,
offline.
"""

from __future__ import annotations

import shutil
import time
import uuid
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trlm_lab.base.file_lock import locked
from trlm_lab.base.home import trlm_home
from trlm_lab.errors import UnknownNameError

#: Made again from snapshots and the project's own sources, without a network.
REMADE = ("artifacts", "codes", "derived", "gguf", "native")
#: Made again from downloads, those of a Hub from the network.
CONVERTED = ("snapshots",)
#: Fetched again, or built or trained for minutes from what is fetched.
FETCHED = ("converter", "downloads", "tokenizers", "trained", "wheels")
KINDS = (*REMADE, *CONVERTED, *FETCHED)

_LEFTOVER = (".tmp-", ".building-", ".pruned-")
_DAY = 86_400.0


@dataclass(frozen=True)
class CacheEntry:
    """One file or directory of the cache: its kind, name, bytes on disk, days since it was read."""

    kind: str
    name: str
    size: int
    idle_days: float
    path: Path


def cache_entries(home: Path | None = None, now: float | None = None) -> list[CacheEntry]:
    """Everything in the cache by kind and name; locks and records of observations are not in it.

    The time of reading is the later of a file's access and change; most systems write the first
    once a day, so that days are all that it can tell.
    """
    root = home or trlm_home()
    moment = time.time() if now is None else now
    return [
        _entry(kind, path, moment)
        for kind in KINDS
        for path in sorted(_children(root / kind))
        if not path.name.startswith(".lock-")
    ]


def prune_cache(
    older_than: float,
    kinds: Iterable[str] = REMADE,
    home: Path | None = None,
    dry_run: bool = False,
) -> list[CacheEntry]:
    """Remove what was not read for `older_than` days; the entries that were (or would be) removed.

    Each entry is renamed before it is deleted, so that a kill leaves no half of one under its
    name; what a kill left is removed by the next call.

    Raises:
        UnknownNameError: a kind that the cache does not have.
    """
    chosen = tuple(kinds)
    for kind in chosen:
        if kind not in KINDS:
            raise UnknownNameError(kind="kind of cache entry", name=kind, known=", ".join(KINDS))
    doomed = [
        entry
        for entry in cache_entries(home)
        if entry.kind in chosen and entry.idle_days >= older_than
    ]
    for entry in doomed if not dry_run else ():
        _remove(entry)
    return doomed


def cache_sums(entries: list[CacheEntry]) -> list[dict[str, Any]]:
    """One row a kind: entries, MB, days since one was read, and what it takes to make again."""
    origin = dict.fromkeys(REMADE, "offline") | dict.fromkeys(CONVERTED, "from downloads")
    rows = []
    for kind in KINDS:
        own = [entry for entry in entries if entry.kind == kind]
        rows.append(
            {
                "kind": kind,
                "entries": len(own),
                "MB": round(sum(entry.size for entry in own) / 1e6, 1),
                "days unread": round(min(e.idle_days for e in own), 1) if own else "",
                "made again": origin.get(kind, "from the network"),
            }
        )
    return rows


def entry_rows(entries: list[CacheEntry]) -> list[dict[str, Any]]:
    """One row an entry, the largest first."""
    return [
        {
            "kind": entry.kind,
            "name": entry.name,
            "MB": round(entry.size / 1e6, 1),
            "days unread": round(entry.idle_days, 1),
        }
        for entry in sorted(entries, key=lambda entry: (-entry.size, entry.name))
    ]


def _children(folder: Path) -> list[Path]:
    return list(folder.iterdir()) if folder.is_dir() else []


def _entry(kind: str, path: Path, moment: float) -> CacheEntry:
    size, used = 0, 0.0
    for file in (path, *path.rglob("*")) if path.is_dir() else (path,):
        try:
            status = file.lstat()
        except FileNotFoundError:  # a run that goes on beside this
            continue
        used = max(used, status.st_mtime)
        if not file.is_dir():
            size += status.st_blocks * 512
            used = max(used, status.st_atime)
    return CacheEntry(kind, path.name, size, max(0.0, moment - used) / _DAY, path)


def _remove(entry: CacheEntry) -> None:
    if entry.path.name.startswith(_LEFTOVER) or entry.kind not in CONVERTED:
        _delete(entry.path)
        return
    # A snapshot is built under this lock; who waits for it finds it gone and builds again.
    with locked(entry.path.with_name(f".lock-{entry.name}")):
        _delete(entry.path)


def _delete(path: Path) -> None:
    aside = path.with_name(f".pruned-{uuid.uuid4().hex}")
    try:
        path.rename(aside)
    except FileNotFoundError:  # another call was quicker
        return
    if aside.is_dir():
        shutil.rmtree(aside, ignore_errors=True)
    else:
        aside.unlink(missing_ok=True)
