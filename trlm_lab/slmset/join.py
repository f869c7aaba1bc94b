"""A set into the single file: the same bytes, put together aside and named when all are proved.

What an interrupted join left beside `out` is gone on with: each of its pieces is hashed again, and
only those that do not have their hash are decoded.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import stat
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from trlm_lab.base.plain_file import kind_of
from trlm_lab.errors import (
    LockHeldError,
    NotPlainFileError,
    SlmError,
    SlmsetError,
    SlmsetIdentityError,
)
from trlm_lab.slm.read import open_slm
from trlm_lab.slm.verify import verify_merkle
from trlm_lab.slmset.files import Progress, mapped, silent
from trlm_lab.slmset.reader import OpenSet, open_set


def join(root: Path, out: Path, *, progress: Progress = silent) -> str:
    """Write the single file of a set; returns its SHA-256, which is the manifest's.

    Raises:
        SlmsetError: the first rule that is broken; `out` is as it was.
        SlmError: the pieces make a file that is no sound SLM2.
        LockHeldError: another join is putting the same file there.
        NotPlainFileError: a directory has the name of the unfinished file.
    """
    opened = open_set(root)
    out.parent.mkdir(parents=True, exist_ok=True)
    part = out.with_name(f".{out.name}.{opened.manifest.file_sha256.hex()[:16]}.join")
    with _alone(part) as stream:
        digest = _assembled(opened, stream, progress)
        stream.flush()
        os.fsync(stream.fileno())
        try:
            # A piece is read by its own hash; what else its shard holds is seen here alone.
            for _ in opened.check_shards():
                pass
            _check_whole(part, opened, digest)
        except (SlmsetError, SlmError):
            # Every piece has its hash, so going on would give the same file again.
            part.unlink()
            raise
        part.replace(out)
    return digest


def _alone(part: Path) -> BinaryIO:
    """The unfinished file, new or as it was left, open and locked.

    Whatever else has its name (a link to another file, a pipe) goes; it is never written through.
    """
    while True:
        with suppress(FileNotFoundError):
            status = part.lstat()
            if stat.S_ISDIR(status.st_mode):
                raise NotPlainFileError(where=str(part), kind=kind_of(status))
            if not stat.S_ISREG(status.st_mode) or status.st_nlink > 1:
                part.unlink()
        handle = os.open(part, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            with suppress(FileNotFoundError):
                # Unless the one before has just finished, and the name is another file's now.
                if os.path.samestat(part.lstat(), os.fstat(handle)):
                    return os.fdopen(handle, "r+b")
        except BlockingIOError as error:
            os.close(handle)
            raise LockHeldError(where=str(part), holder="unknown") from error
        os.close(handle)


def _assembled(opened: OpenSet, stream: BinaryIO, progress: Progress) -> str:
    """Front matter and pieces in order; returns the SHA-256 of all of it."""
    manifest = opened.manifest
    stream.truncate(min(os.fstat(stream.fileno()).st_size, manifest.file_len))
    stream.write(opened.front)
    digest = hashlib.sha256(opened.front)
    for row in manifest.pieces:
        progress("join", row.piece_index, len(manifest.pieces))
        at = stream.tell()
        data = stream.read(row.logical_len)
        if hashlib.sha256(data).digest() != row.sha256:
            data = opened.piece(row)
            stream.seek(at)
            stream.write(data)
        digest.update(data)
    progress("join", len(manifest.pieces), len(manifest.pieces))
    return digest.hexdigest()


def _check_whole(part: Path, opened: OpenSet, digest: str) -> None:
    wanted = opened.manifest.file_sha256.hex()
    if digest != wanted:
        raise SlmsetIdentityError(
            where=str(opened.root), field="the whole file's hash", got=digest, expected=wanted
        )
    slm = open_slm(mapped(part), where=opened.root.name)
    # The root of the header is the manifest's; the pieces have the hashes of both tables.
    verify_merkle(slm)
