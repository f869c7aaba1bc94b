"""Names beside an output for work that is not finished; those of processes that are gone go first.

A name carries a hash of the output's and the number of the process, so that the next command for
the same output knows what a killed one left, and touches nothing of one that is at work.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from trlm_lab.base.output_file import written_below


def unfinished_name(out: Path) -> Path:
    """A free name beside `out`, whose folder is made; leftovers of killed processes are removed."""
    out.parent.mkdir(parents=True, exist_ok=True)
    mark = hashlib.sha256(os.fsencode(out.name)).hexdigest()[:16]
    for found in out.parent.glob(f".tmp-{mark}.*.part"):
        if _orphan(found):
            _remove(found)
    return out.with_name(f".tmp-{mark}.{os.getpid()}.{secrets.token_hex(4)}.part")


def unfinished_file(out: Path) -> tuple[BinaryIO, Path]:
    """A new file of such a name, open for writing and reading; who may read it, the umask says."""
    place = unfinished_name(out)
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    return os.fdopen(os.open(place, flags, 0o666), "w+b"), place


@contextmanager
def replacing(out: Path) -> Iterator[BinaryIO]:
    """A file beside `out` that takes its name when all of it is written and on the disk."""
    stream, place = unfinished_file(out)
    try:
        with written_below(out), stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        place.replace(out)
    finally:
        place.unlink(missing_ok=True)


def _orphan(path: Path) -> bool:
    number = path.name.split(".")[2]
    return number.isdecimal() and not _alive(int(number))


def _alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):
        return True
    return True


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
        return
    with suppress(OSError):
        path.unlink(missing_ok=True)
