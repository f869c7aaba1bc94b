"""Admission of an artifact by a host: the self hash of an SLM2 file, streamed.

The runtime checks structure; hashing is the host's work. A file that this process has hashed is not
hashed again while its identity, size and time of change stay the same.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

from trlm_lab.base.plain_file import open_plain, require_plain
from trlm_lab.errors import ModelFilesError, SlmHashError

HEADER = 256
HASH = slice(136, 168)
BLANK = slice(136, 208)
CHUNK = 1 << 22

_ADMITTED: set[tuple[int, int, int, int]] = set()


def admit(path: Path) -> None:
    """Check the self hash. A file too short for a header is left for the runtime to refuse.

    Raises:
        ModelFilesError: the file cannot be read.
        SlmHashError: the bytes changed after packing.
    """
    try:
        stat = require_plain(path)
        key = (stat.st_dev, stat.st_ino, stat.st_size, stat.st_mtime_ns)
        if key not in _ADMITTED and stat.st_size >= HEADER:
            _check(path)
    except OSError as error:
        raise ModelFilesError(where=str(path), detail=f"cannot be read: {error}") from error
    _ADMITTED.add(key)


def _check(path: Path) -> None:
    with open_plain(path) as stream:
        header = bytearray(stream.read(HEADER))
        if header[:4] != b"SLM2":
            return  # the runtime says what is wrong with it
        stored = bytes(header[HASH])
        header[BLANK] = bytes(BLANK.stop - BLANK.start)
        digest = hashlib.sha256(header)
        while chunk := stream.read(CHUNK):
            digest.update(chunk)
    if digest.digest() != stored:
        raise SlmHashError(
            where=f"{path}: byte {HASH.start}",
            field="self_sha256",
            got=stored.hex(),
            expected=digest.hexdigest(),
        )
