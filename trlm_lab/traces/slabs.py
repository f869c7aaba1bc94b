"""Read slabs out of the files of a case, and notice files that are torn or lost.

zarr gives its fill value for a chunk that is not there, without a word; here it is an error.
"""

from __future__ import annotations

import hashlib
import os
from contextlib import ExitStack
from pathlib import Path
from typing import Any, BinaryIO, Protocol

import numpy as np
from numpy.typing import NDArray

from trlm_lab.base import canon
from trlm_lab.base.plain_file import open_plain, require_plain
from trlm_lab.base.records import ArrayDigest
from trlm_lab.errors import NotPlainFileError, TraceCorruptError
from trlm_lab.traces.layout import StoredArray, segments_of
from trlm_lab.traces.shards import Segment

#: Bytes of one reading while slabs are checked.
_AT_A_TIME = 1 << 20


class _Hash(Protocol):
    """What hashlib's objects do here."""

    def update(self, data: memoryview, /) -> None: ...


def read_slab(directory: Path, digest: ArrayDigest) -> NDArray[Any]:
    """One array of a case, hashed and owned by the caller.

    Raises:
        TraceCorruptError: a file is lost or too short, or the bytes have another digest.
    """
    little = np.dtype(digest.dtype).newbyteorder("<")
    values: NDArray[Any] = np.empty(digest.shape, dtype=little)
    raw = values.reshape(-1).view(np.uint8).data
    folder, parts = segments_of(digest)
    for part in parts:
        _read_into(directory / folder / part.file, part.offset, raw[part.begin : part.end])
    _require_digest(directory, digest, canon.sha256_hex(raw))
    return values.astype(digest.dtype, copy=False)


def check_slabs(directory: Path, array: StoredArray) -> None:
    """The slabs of one array have their digests; each of its files is opened once.

    Reads as little at a time as hashing at full speed needs: an array may be larger than memory.

    Raises:
        TraceCorruptError: a file is lost or too short, or a slab has another digest.
    """
    buffer = memoryview(bytearray(min(array.cut.nbytes, _AT_A_TIME)))
    # A text, since making a path for every slab would take longer than reading it.
    folder = str(directory / array.name)
    with ExitStack() as stack:
        opened: dict[str, BinaryIO] = {}
        for layer, digest in array.slabs.items():
            hasher = hashlib.sha256()
            for part in array.cut.segments(layer):
                where = f"{folder}/{part.file}"
                if where not in opened:
                    opened[where] = stack.enter_context(_opened(Path(where)))
                _hash(opened[where], where, part, buffer, hasher)
            _require_digest(directory, digest, hasher.hexdigest())


def _hash(stream: BinaryIO, where: str, part: Segment, buffer: memoryview, hasher: _Hash) -> None:
    """Take the bytes of a segment into a hash."""
    at, end = part.offset, part.offset + part.end - part.begin
    while at < end:
        try:
            got = os.preadv(stream.fileno(), [buffer[: end - at]], at)
        except OSError as error:
            raise _lost(where, error) from error
        if not got:
            raise TraceCorruptError(where=where, detail=f"it ends before byte {end}")
        hasher.update(buffer[:got])
        at += got


def _require_digest(directory: Path, digest: ArrayDigest, got: str) -> None:
    if got != digest.sha256:
        folder, parts = segments_of(digest)
        where = str(directory / folder / parts[0].file)
        detail = f"{digest.name} hashes to {got}, declared is {digest.sha256}"
        raise TraceCorruptError(where=where, detail=detail)


def _opened(path: Path) -> BinaryIO:
    try:
        return open_plain(path)
    except (OSError, NotPlainFileError) as error:
        raise _lost(path, error) from error


def _lost(path: Path | str, error: Exception) -> TraceCorruptError:
    return TraceCorruptError(where=str(path), detail=f"the file is lost: {error}")


def _read_into(path: Path, offset: int, place: memoryview) -> None:
    try:
        with open_plain(path) as stream:
            stream.seek(offset)
            got = stream.readinto(place)  # type: ignore[attr-defined]
    except (OSError, NotPlainFileError) as error:
        raise _lost(path, error) from error
    if got != len(place):
        raise TraceCorruptError(
            where=str(path), detail=f"it ends before byte {offset + len(place)}"
        )


def require_files(directory: Path, array: StoredArray) -> None:
    """Every file of an array is there, has its size, and ends in the index that its chunks have.

    Raises:
        TraceCorruptError: at the first that is not so.
    """
    for file in array.files():
        path = directory / array.name / file.name
        try:
            size = require_plain(path).st_size
        except (OSError, NotPlainFileError) as error:
            raise TraceCorruptError(where=str(path), detail="the file is lost") from error
        if size != file.size:
            detail = f"{size} bytes, declared are {file.size}"
            raise TraceCorruptError(where=str(path), detail=detail)
        index = bytearray(len(file.index))
        _read_into(path, file.data, memoryview(index))
        if index != file.index:
            detail = "the index of its chunks is damaged"
            raise TraceCorruptError(where=str(path), detail=detail)
