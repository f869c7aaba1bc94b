"""Writing a golden directory: blobs first, then the document; the reader has the last word."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from trlm_lab.base import canon
from trlm_lab.base.blobs import DirectoryBlobStore, write_atomically
from trlm_lab.base.unfinished import unfinished_name
from trlm_lab.errors import GoldenExportError
from trlm_lab.golden.read import (
    BLOBS,
    CASE_FILE,
    Golden,
    check_golden,
    read_document,
    read_golden,
)
from trlm_lab.golden.record import GoldenCase

#: Names of the dtypes that arrays of this library have.
DTYPES = {"float32": "f32", "float16": "f16", "float64": "f64", "int32": "i32", "int64": "i64",
          "uint8": "u8"}  # fmt: skip


def array_bytes(values: NDArray[np.generic]) -> bytes:
    """Little-endian, C order."""
    return np.ascontiguousarray(values, dtype=values.dtype.newbyteorder("<")).tobytes()


def encode_case(case: GoldenCase) -> bytes:
    """The bytes of `case.cbor`.

    Raises:
        GoldenError: the case breaks a rule of the format.
    """
    data = canon.encode(case.to_map())
    read_document(data)
    return data


def write_golden(root: Path, case: GoldenCase, blobs: Iterable[bytes]) -> Golden:
    """Write a case into a directory that is not there yet, whole or not at all.

    The very same container, whole, is kept, so that an export that was stopped goes on.

    Raises:
        GoldenExportError: something else is there already.
        GoldenError: the case breaks a rule of the format.
    """
    data = encode_case(case)
    if os.path.lexists(root):
        _require_same(root, data)
        return read_golden(root)
    scratch = unfinished_name(root)
    scratch.mkdir()
    try:
        store = DirectoryBlobStore(scratch / BLOBS)
        store.root.mkdir()
        for blob in blobs:
            store.put(blob)
        write_atomically(scratch / CASE_FILE, data)
        _publish(scratch, root, data)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    return read_golden(root)


def _publish(scratch: Path, root: Path, data: bytes) -> None:
    """Give the container its name, unless another writer gave it to the very same meanwhile."""
    try:
        scratch.rename(root)
    except OSError:
        if not os.path.lexists(root):
            raise
        _require_same(root, data)


def _require_same(root: Path, data: bytes) -> None:
    if not _holds(root, data):
        raise GoldenExportError(where=str(root), detail="there is something else under this name")


def _holds(root: Path, data: bytes) -> bool:
    """Whether this document is there with every blob, and nothing beside them."""
    return root.is_dir() and not check_golden(root) and read_golden(root).data == data
