"""Read slabs out of the files of a case, and notice files that are torn or lost.

zarr gives its fill value for a chunk that is not there, without a word; here it is an error.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trlm_lab.base import canon
from trlm_lab.base.plain_file import open_plain, require_plain
from trlm_lab.base.records import ArrayDigest
from trlm_lab.errors import NotPlainFileError, TraceCorruptError
from trlm_lab.traces.layout import StoredArray, segments_of


def read_slab(directory: Path, digest: ArrayDigest) -> NDArray[Any]:
    """One array of a case, hashed and owned by the caller.

    Raises:
        TraceCorruptError: a file is lost or too short, or the bytes have another digest.
    """
    little = np.dtype(digest.dtype).newbyteorder("<")
    values: NDArray[Any] = np.empty(digest.shape, dtype=little)
    raw = values.reshape(-1).view(np.uint8).data
    for file, part in segments_of(digest):
        _read_into(directory / file, part.offset, raw[part.begin : part.end])
    got = canon.sha256_hex(raw)
    if got != digest.sha256:
        where = str(directory / segments_of(digest)[0][0])
        detail = f"{digest.name} hashes to {got}, declared is {digest.sha256}"
        raise TraceCorruptError(where=where, detail=detail)
    return values.astype(digest.dtype, copy=False)


def _read_into(path: Path, offset: int, place: memoryview) -> None:
    try:
        with open_plain(path) as stream:
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
