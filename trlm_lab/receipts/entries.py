"""Everything that lies below a directory, looked at without following a link or opening a pipe."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True)
class Entries:
    """Paths below one directory, relative with `/`: regular files, and what is neither that nor a
    directory (links, pipes, sockets, devices) with its kind in words."""

    files: frozenset[str]
    odd: dict[str, str] = field(default_factory=dict)


def entries(directory: Path) -> Entries:
    """Walk the directory; a link is an entry and never a way."""
    files: set[str] = set()
    odd: dict[str, str] = {}
    for relative, entry in _walk(directory, ""):
        if entry is None:
            odd[relative] = "a directory that cannot be read"
        elif entry.is_symlink():
            odd[relative] = "a symbolic link"
        elif entry.is_file(follow_symlinks=False):
            files.add(relative)
        else:
            odd[relative] = "a pipe, socket or device"
    return Entries(frozenset(files), odd)


def _walk(directory: Path, prefix: str) -> Iterator[tuple[str, os.DirEntry[str] | None]]:
    """Entries that are no directories; None cannot be looked into. Any depth of directories."""
    pending = [prefix]
    while pending:
        inside = pending.pop()
        try:
            with os.scandir(directory / inside) as found:
                listed = sorted(found, key=lambda entry: entry.name)
        except OSError:
            yield inside or ".", None
            continue
        for entry in listed:
            relative = f"{inside}{entry.name}"
            if entry.is_dir(follow_symlinks=False):
                pending.append(f"{relative}/")
            else:
                yield relative, entry
