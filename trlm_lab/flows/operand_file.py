"""Operand files: NumPy `.npz` archives, read within limits and without running anything.

An archive declares the size of each array before its bytes; the declared size is compared with the
bytes that are there before memory is asked for, and nothing is unpickled.
"""

from __future__ import annotations

import io
import math
import zipfile
import zlib
from pathlib import Path
from typing import IO, Any, Final

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from trlm_lab.base.blobs import write_atomically
from trlm_lab.errors import NpzUnreadableError

#: Largest sum of the unpacked arrays of an operand file, in bytes.
LIMIT: Final = 1 << 30
SUFFIX: Final = ".npy"

_BROKEN = (
    OSError, ValueError, KeyError, EOFError, RuntimeError, NotImplementedError, UnicodeDecodeError,
    zipfile.BadZipFile, zlib.error, SyntaxError,
)  # fmt: skip


def read_operands(path: Path) -> dict[str, NDArray[Any]]:
    """The arrays of an archive by name.

    Raises:
        NpzUnreadableError: no such archive, or one that holds something else than plain arrays of
            its own size.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            return _read_all(archive, path)
    except _BROKEN as error:
        detail = f"{type(error).__name__}: {error}"
        raise NpzUnreadableError(where=str(path), detail=detail) from error


def _read_all(archive: zipfile.ZipFile, path: Path) -> dict[str, NDArray[Any]]:
    members = archive.infolist()
    total = sum(member.file_size for member in members)
    if total > LIMIT:
        detail = f"its arrays take {total} bytes, at most {LIMIT} are read"
        raise NpzUnreadableError(where=str(path), detail=detail)
    arrays: dict[str, NDArray[Any]] = {}
    for member in members:
        name = member.filename.removesuffix(SUFFIX)
        where = f"{path}: {name}"
        if name in arrays or not member.filename.endswith(SUFFIX):
            detail = "the name occurs twice" if name in arrays else "is no .npy member"
            raise NpzUnreadableError(where=where, detail=detail)
        with archive.open(member) as stream:
            arrays[name] = _read_array(stream, member.file_size, where)
    return arrays


def _read_array(stream: IO[bytes], size: int, where: str) -> NDArray[Any]:
    # Zip counts what it unpacks; one byte more than declared shows a member that lies.
    data = stream.read(size + 1)
    whole = io.BytesIO(data)
    version = npy.read_magic(whole)
    if version not in ((1, 0), (2, 0)):
        raise NpzUnreadableError(where=where, detail=f"npy version {version}")
    read = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
    shape, _, dtype = read(whole)
    if dtype.hasobject or dtype.kind not in "biufU":
        detail = f"element type {dtype}; plain numbers, Booleans and texts are read"
        raise NpzUnreadableError(where=where, detail=detail)
    declared, there = math.prod(shape) * dtype.itemsize, len(data) - whole.tell()
    if declared != there or min(shape, default=0) < 0:
        detail = f"{dtype} {list(shape)} takes {declared} bytes, there are {there}"
        raise NpzUnreadableError(where=where, detail=detail)
    whole.seek(0)
    array: NDArray[Any] = npy.read_array(whole, allow_pickle=False)
    return array


def write_operands(path: Path, arrays: dict[str, NDArray[Any]]) -> None:
    """Write an archive whole or not at all, under exactly this name."""
    buffer = io.BytesIO()
    np.savez(buffer, allow_pickle=False, **arrays)
    write_atomically(path, buffer.getvalue())
