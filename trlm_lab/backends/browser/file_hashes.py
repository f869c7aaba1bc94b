"""The hashes of an artifact on this side, taken in one pass and constant memory.

The worker hashes the bytes it runs; these values say what that hash must be, and whether the file
keeps its own promises. Structure is not judged here: that is the work of the runtime's reader.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from trlm_lab.errors import SlmHashError
from trlm_lab.slm.layout import HEADER, PIECE_SIZE
from trlm_lab.slm.merkle import SLM2_MERKLE
from trlm_lab.slm.write import self_hash_input

_BODY_OFF = HEADER.offset("body_off")


@dataclass(frozen=True)
class FileHashes:
    """SHA-256 of the file; self hash and Merkle root as stored and as computed."""

    file_sha256: str
    stored: dict[str, bytes]
    computed: dict[str, bytes]

    def check(self, where: str) -> None:
        """Raises SlmHashError where the file breaks its own promise."""
        for field, stored in self.stored.items():
            computed = self.computed[field]
            if stored != computed:
                place = f"{where}: byte {HEADER.offset(field)}"
                raise SlmHashError(
                    where=place, field=field, got=stored.hex(), expected=computed.hex()
                )


def _chunks(stream: BinaryIO, header: bytes) -> Iterator[tuple[bytes, bool]]:
    """The bytes behind the header; the flag marks pieces of the body."""
    body_off = int.from_bytes(header[_BODY_OFF : _BODY_OFF + 8], "little")
    front = max(0, body_off - len(header))
    while front > 0 and (chunk := stream.read(min(front, PIECE_SIZE))):
        front -= len(chunk)
        yield chunk, False
    while chunk := stream.read(PIECE_SIZE):
        yield chunk, True


def hash_file(path: Path) -> FileHashes:
    """Hash an artifact; any file is served, even one that is no artifact."""
    with path.open("rb") as stream:
        header = stream.read(HEADER.size)
        whole, blanked = hashlib.sha256(header), hashlib.sha256(self_hash_input(header))
        leaves = []
        for chunk, in_body in _chunks(stream, header):
            whole.update(chunk)
            blanked.update(chunk)
            if in_body:
                leaves.append(SLM2_MERKLE.leaf(chunk))
    computed = {"self_sha256": blanked.digest(), "merkle_root_sha256": SLM2_MERKLE.root(leaves)}
    stored = {name: header[HEADER.offset(name) : HEADER.offset(name) + 32] for name in computed}
    return FileHashes(whole.hexdigest(), stored, computed)
