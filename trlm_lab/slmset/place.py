"""The directory that a set is written into, held by one writer; what a killed one left there."""

from __future__ import annotations

import re
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from trlm_lab.base.file_lock import locked_at_once
from trlm_lab.base.plain_file import kind_of
from trlm_lab.errors import OutputIsInputError, SlmsetFileError
from trlm_lab.slmset.layout import FRONT, MANIFEST, shard_name

LOCK = ".lock"
#: What an unfinished split leaves: files on their way, shards, their journals, the front matter.
_OURS = re.compile(r"\.tmp-.*|shard-\d{5,}\.bin|\.shard-\d{5,}\.bin\.cbor|" + re.escape(FRONT))


def journal_name(index: int) -> str:
    """The file that says how a finished shard was cut, while its set is unfinished."""
    return f".{shard_name(index)}.cbor"


@contextmanager
def claimed(out: Path, source: Path) -> Iterator[None]:
    """Hold `out` for one split alone.

    Raises:
        OutputIsInputError: the source lies in it.
        SlmsetFileError: it is no directory, or holds what no unfinished split leaves.
        LockHeldError: another split is going on there.
    """
    if source.resolve().is_relative_to(out.resolve()):
        raise OutputIsInputError(where=str(out))
    if out.exists() and not out.is_dir():
        _refuse(out, kind_of(out.stat()) if not out.is_file() else "a file")
    out.mkdir(parents=True, exist_ok=True)
    _check(out)
    with locked_at_once(out / LOCK):
        try:
            # Another split may have begun, or ended, between the look and the lock.
            _check(out)
            remove(out, lambda name: name.startswith(".tmp-"))
            yield
        finally:
            (out / LOCK).unlink(missing_ok=True)


def _check(out: Path) -> None:
    for found in sorted(out.iterdir()):
        plain = stat.S_ISREG(found.lstat().st_mode)
        if found.name != LOCK and not (plain and _OURS.fullmatch(found.name)):
            _refuse(out, f"{found.name}{'' if plain else ', no plain file'}")


def remove(out: Path, unwanted: Callable[[str], bool]) -> None:
    """Remove the files of some names."""
    for found in sorted(out.iterdir()):
        if unwanted(found.name):
            found.unlink()


def remove_foreign(out: Path, shards: int) -> None:
    """Remove what an unfinished split with other parameters left beside so many shards."""
    kept = {
        FRONT,
        MANIFEST,
        LOCK,
        *map(shard_name, range(shards)),
        *map(journal_name, range(shards)),
    }
    remove(out, lambda name: name not in kept and _OURS.fullmatch(name) is not None)


def _refuse(out: Path, got: str) -> None:
    raise SlmsetFileError(
        where=str(out), field="the directory", got=got, expected="a new or empty one"
    )
