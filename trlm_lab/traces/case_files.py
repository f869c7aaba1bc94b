"""The files of one case while it is captured: slabs at their final places, all or nothing."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from trlm_lab.base import canon
from trlm_lab.base.blobs import write_atomically
from trlm_lab.base.records import ArrayDigest
from trlm_lab.traces.checking import TEMPORARY
from trlm_lab.traces.documents import (
    DOCUMENT,
    StoredCase,
    array_documents,
    case_document,
    to_bytes,
)
from trlm_lab.traces.layout import segments_of


class CaseFiles:
    """A directory of a temporary name; `complete` gives it the case's, in place of an older one."""

    def __init__(self, root: Path, case_id: str) -> None:
        self._place = root / case_id
        self._growing = root / f"{TEMPORARY}{case_id}"
        self._replaced = root / f"{TEMPORARY}{case_id}.replaced"
        self._open: dict[str, tuple[str, BinaryIO]] = {}

    def __enter__(self) -> CaseFiles:
        removed(self._growing)
        self._growing.mkdir()
        return self

    def __exit__(self, *exc: object) -> None:
        self._close()
        removed(self._growing)
        removed(self._replaced)

    def put(self, name: str, values: NDArray[Any]) -> ArrayDigest:
        """Write one slab and hash the very bytes that were written."""
        little = np.ascontiguousarray(values, dtype=values.dtype.newbyteorder("<"))
        raw = little.reshape(-1).view(np.uint8).data
        digest = ArrayDigest(name, values.dtype.name, values.shape, canon.sha256_hex(raw))
        array, parts = segments_of(digest)
        for part in parts:
            self._write(array, part.file, part.offset, raw[part.begin : part.end])
        return digest

    def _write(self, array: str, name: str, offset: int, data: bytes | memoryview) -> None:
        """Write into a file of an array; the one written last stays open, one for each array."""
        held = self._open.get(array)
        if held is None or held[0] != name:
            held = self._open[array] = name, self._opened(Path(array) / name, held)
        handle, left = held[1].fileno(), memoryview(data)
        while left:
            written = os.pwrite(handle, left, offset)
            left, offset = left[written:], offset + written

    def _opened(self, file: Path, before: tuple[str, BinaryIO] | None) -> BinaryIO:
        if before is None:
            (self._growing / file).parent.mkdir()
        else:
            before[1].close()
        handle = os.open(self._growing / file, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o666)
        return os.fdopen(handle, "wb", buffering=0)

    def _close(self) -> None:
        for _, stream in self._open.values():
            stream.close()
        self._open.clear()

    def complete(self, stored: StoredCase) -> None:
        """Write what follows from the digests: indexes and documents, that of the case last."""
        for array in stored.arrays:
            for file in array.files():
                if file.index:
                    self._write(array.name, file.name, file.data, file.index)
        self._close()
        for name, document in array_documents(stored).items():
            (self._growing / name / DOCUMENT).write_bytes(to_bytes(document))
        write_atomically(self._growing / DOCUMENT, to_bytes(case_document(stored)))
        if self._place.exists():
            self._place.rename(self._replaced)
        self._growing.rename(self._place)


def removed(path: Path) -> None:
    """Nothing is left under this name."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
