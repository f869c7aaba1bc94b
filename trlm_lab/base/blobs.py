"""A content-addressed, append-only store of byte blobs in one directory.

A blob's file name is the hex SHA-256 of its bytes. Writes go to a temporary file in the same
directory, are flushed, then renamed, and the directory is flushed, so a kill leaves either nothing
or the whole blob, a name that was given stays, and two writers of one blob both succeed. Reads
check the hash. Nothing here deletes.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

from trlm_lab.base.plain_file import chunks, read_plain, require_plain
from trlm_lab.errors import BlobCorruptError, BlobMissingError, NotPlainFileError, StoreWriteError


def file_sha256(path: Path) -> str:
    """SHA-256 of a file, streamed in constant memory."""
    digest = hashlib.sha256()
    for chunk in chunks(path):
        digest.update(chunk)
    return digest.hexdigest()


def write_atomically(path: Path, data: bytes) -> None:
    """Write a whole file or nothing, and have it on the disk on return.

    Temporary file in the same directory, fsync, rename, fsync of the directory: some three
    milliseconds on a plain disk. Who sweeps unfinished files meanwhile costs one more turn.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    while not _renamed(_unfinished(path.parent, data), path):
        pass
    _flush_directory(path.parent)


def _unfinished(folder: Path, data: bytes) -> Path:
    handle, temporary = tempfile.mkstemp(prefix=".tmp-", dir=folder)
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
    return Path(temporary)


def _renamed(temporary: Path, path: Path) -> bool:
    """False where somebody took the temporary file away."""
    try:
        temporary.replace(path)
    except FileNotFoundError:
        return False
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    return True


def _flush_directory(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def store_once(path: Path, data: bytes) -> None:
    """Write a content-addressed file unless it is there already with these very bytes.

    A file of this name with other bytes is damage, and is replaced by what the name stands for.

    Raises:
        StoreWriteError: the disk is full, or this user may not write here; nothing has changed.
    """
    if _holds(path, data):
        return
    try:
        write_atomically(path, data)
    except OSError as error:
        reason = error.strerror or str(error)
        raise StoreWriteError(where=str(path.parent), reason=reason) from error


def _holds(path: Path, data: bytes) -> bool:
    try:
        same = not path.is_symlink() and require_plain(path).st_size == len(data)
        return same and read_plain(path) == data
    except (OSError, NotPlainFileError):
        return False


class DirectoryBlobStore:
    """The `BlobStore` on a local directory."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def path(self, sha256: str) -> Path:
        """Where the blob of this name lies or would lie."""
        return self.root / sha256

    def put(self, data: bytes) -> str:
        """Store bytes and return their SHA-256; storing twice is one blob.

        Raises:
            StoreWriteError: the disk is full, or this user may not write here.
        """
        name = hashlib.sha256(data).hexdigest()
        store_once(self.path(name), data)
        return name

    def get(self, sha256: str) -> bytes:
        """The bytes of a blob, checked.

        Raises:
            BlobMissingError: no such blob.
            BlobCorruptError: the stored bytes have another hash.
        """
        path = self.path(sha256)
        if not path.is_file():
            raise BlobMissingError(where=str(path), sha256=sha256)
        data = path.read_bytes()
        got = hashlib.sha256(data).hexdigest()
        if got != sha256:
            raise BlobCorruptError(where=str(path), got=got, expected=sha256)
        return data

    def __contains__(self, sha256: object) -> bool:
        return isinstance(sha256, str) and self.path(sha256).exists()

    def __iter__(self) -> Iterator[str]:
        if self.root.exists():
            yield from sorted(p.name for p in self.root.iterdir() if not p.name.startswith("."))
