"""What lies in a local source when a transaction begins, and must still lie there at its end.

The hashes of what is taken tell a changed file; they tell nothing of a file that came meanwhile,
nor of one that changed while it was read and was put back. So every entry is listed with what the
file system says of it, a time of its last change among it that no writer sets.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from trlm_lab.acquire.directory_tree import MAX_DEPTH, MAX_FILES
from trlm_lab.acquire.tree_names import BOOKKEEPING
from trlm_lab.base.blobs import file_sha256
from trlm_lab.base.records import SourceFile
from trlm_lab.errors import SourceChangedError

#: Kind, size in bytes, number of the file, and the times (ns) of its last change and of the last
#: change of what the file system knows about it.
Entry = tuple[int, int, int, int, int]


def listing(root: Path) -> dict[str, Entry]:
    """Every file, link and folder below `root` by its relative name; bookkeeping is left out.

    A tree that no rule lets in is listed in part: whoever judges it refuses it.
    """
    rows: dict[str, Entry] = {}
    for name, entry in _walk(root, root, 1):
        rows[name] = entry
        if len(rows) > 2 * MAX_FILES:
            break
    return rows


def _walk(root: Path, folder: Path, depth: int) -> Iterator[tuple[str, Entry]]:
    for path in sorted(folder.iterdir()):
        if depth == 1 and path.name in BOOKKEEPING:
            continue
        name = path.relative_to(root).as_posix()
        if path.is_dir() and not path.is_symlink():
            # The times of a folder change with names that are passed over; its entries say all.
            yield f"{name}/", (0, 0, 0, 0, 0)
            if depth < MAX_DEPTH:
                yield from _walk(root, path, depth + 1)
        else:
            yield name, listed_file(path)


def listed_file(path: Path) -> Entry:
    """What the file system says of one file, links not followed.

    Raises:
        SourceChangedError: it is gone.
    """
    try:
        found = os.lstat(path)
    except FileNotFoundError as error:
        raise SourceChangedError(where=str(path), detail="it is gone") from error
    return (
        found.st_mode, found.st_size, found.st_ino, found.st_mtime_ns, found.st_ctime_ns
    )  # fmt: skip


def require_same_listing(
    where: str, before: Mapping[str, Entry], after: Mapping[str, Entry]
) -> None:
    """Refuse a source that gained, lost or rewrote any file meanwhile.

    Raises:
        SourceChangedError: it did; the first name is told.
    """
    came, gone = sorted(after.keys() - before.keys()), sorted(before.keys() - after.keys())
    written = sorted(n for n in before.keys() & after.keys() if before[n] != after[n])
    for what, names in (("came", came), ("is gone", gone), ("was written", written)):
        if names:
            more = f" (and {len(names) - 1} more)" if len(names) > 1 else ""
            raise SourceChangedError(where=where, detail=f"{names[0]!r} {what}{more}")


def require_unchanged(root: Path, files: list[SourceFile]) -> None:
    """Every file below `root` has the hash that was taken of it.

    Raises:
        SourceChangedError: one does not, or is gone.
    """
    for file in files:
        path = root / file.path.decode()
        if not path.is_file() or file_sha256(path) != file.sha256:
            detail = f"{path.name!r} has other bytes, or is gone"
            raise SourceChangedError(where=str(path), detail=detail)
