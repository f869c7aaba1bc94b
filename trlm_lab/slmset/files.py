"""A file mapped read-only, and a progress callback."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np

from trlm_lab.base.plain_file import require_plain
from trlm_lab.errors import PathMissingError

#: Called with what is being done, the units done, and all units.
Progress = Callable[[str, int, int], None]


def silent(what: str, done: int, total: int) -> None:
    """Report nothing."""


def mapped(path: Path) -> memoryview:
    """The bytes of a plain file; the mapping lives as long as its views.

    Raises:
        PathMissingError: nothing is there.
        NotPlainFileError: a directory, pipe, socket or device.
    """
    if not path.exists():
        raise PathMissingError(where=str(path))
    if require_plain(path).st_size == 0:
        return memoryview(b"")
    return np.memmap(path, dtype=np.uint8, mode="r").data
