"""Git LFS pointer files: small texts that stand for objects elsewhere (git-lfs spec, version 1)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

#: The specification bounds a pointer at 1024 bytes.
MOST_BYTES = 1024
#: The address that the specification names, and the one from before its first release. A checkout
#: may have turned line feeds into carriage return and line feed.
_VERSION = re.compile(rb"version https://(git-lfs|hawser)\.github\.com/spec/v[0-9]+\r?\n")
_OID = re.compile(rb"^oid sha256:([0-9a-f]{64})\r?$", re.M)
_SIZE = re.compile(rb"^size ([0-9]{1,19})\r?$", re.M)


@dataclass(frozen=True)
class LfsPointer:
    """SHA-256 and size in bytes of the object that a pointer stands for."""

    oid: str
    size: int


def read_pointer(path: Path) -> LfsPointer | None:
    """The pointer at `path`, or None where the file is something else."""
    with path.open("rb") as stream:
        data = stream.read(MOST_BYTES + 1)
    if len(data) > MOST_BYTES or not _VERSION.match(data):
        return None
    oid, size = _OID.search(data), _SIZE.search(data)
    if oid is None or size is None:
        return None
    return LfsPointer(oid[1].decode(), int(size[1]))
