"""Read slabs out of the files of a case, and notice files that are torn or lost.

zarr gives its fill value for a chunk that is not there, without a word; here it is an error.
"""

from __future__ import annotations

from contextlib import ExitStack, nullcontext
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from trlm_lab.base import canon
from trlm_lab.base.plain_file import open_plain, require_plain
from trlm_lab.base.records import ArrayDigest
from trlm_lab.errors import NotPlainFileError, TraceCorruptError
from trlm_lab.traces.layout import StoredArray, segments_of


class OpenFiles:
    """Files of one case, each opened once while all its arrays are read; closed at the end."""

    def __init__(self) -> None:
        self._stack = ExitStack()
        self._streams: dict[Path, BinaryIO] = {}

    def __enter__(self) -> OpenFiles:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def stream(self, path: Path) -> BinaryIO:
        """The file, open for reading. Raises as `open_plain`."""
        if path not in self._streams:
            self._streams[path] = self._stack.enter_context(open_plain(path))
        return self._streams[path]


def read_slab(
    directory: Path, digest: ArrayDigest, opened: OpenFiles | None = None
) -> NDArray[Any]:
    """One array of a case, hashed and owned by the caller.

    Whoever reads many arrays of a case lends `opened`: a file holds hundreds of them.

    Raises:
        TraceCorruptError: a file is lost or too short, or the bytes have another digest.
    """
    little = np.dtype(digest.dtype).newbyteorder("<")
    values: NDArray[Any] = np.empty(digest.shape, dtype=little)
    raw = values.reshape(-1).view(np.uint8).data
    for file, part in segments_of(digest):
        _read_into(directory / file, part.offset, raw[part.begin : part.end], opened)
    got = canon.sha256_hex(raw)
    if got != digest.sha256:
        where = str(directory / segments_of(digest)[0][0])
        detail = f"{digest.name} hashes to {got}, declared is {digest.sha256}"
        raise TraceCorruptError(where=where, detail=detail)
    return values.astype(digest.dtype, copy=False)


def _read_into(path: Path, offset: int, place: memoryview, opened: OpenFiles | None = None) -> None:
    try:
        with nullcontext(opened.stream(path)) if opened else open_plain(path) as stream:
            stream.seek(offset)
            got = stream.readinto(place)  # type: ignore[attr-defined]
    except (OSError, NotPlainFileError) as error:
        raise TraceCorruptError(where=str(path), detail=f"the file is lost: {error}") from error
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
