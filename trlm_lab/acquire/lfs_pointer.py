"""Git LFS pointer files: small texts that stand for objects elsewhere (git-lfs spec, version 1)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

#: The specification bounds a pointer at 1024 bytes.
MOST_BYTES = 1024
_VERSION = b"version https://git-lfs.github.com/spec/v1\n"
_OID = re.compile(rb"^oid sha256:([0-9a-f]{64})$", re.M)
_SIZE = re.compile(rb"^size ([0-9]{1,19})$", re.M)


@dataclass(frozen=True)
class LfsPointer:
    """SHA-256 and size in bytes of the object that a pointer stands for."""

    oid: str
    size: int


def read_pointer(path: Path) -> LfsPointer | None:
    """The pointer at `path`, or None where the file is something else."""
    with path.open("rb") as stream:
        data = stream.read(MOST_BYTES + 1)
    if len(data) > MOST_BYTES or not data.startswith(_VERSION):
        return None
    oid, size = _OID.search(data), _SIZE.search(data)
    if oid is None or size is None:
        return None
    return LfsPointer(oid[1].decode(), int(size[1]))
