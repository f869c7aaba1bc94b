"""A file that a person reviewed, read once: the same bytes are parsed, hashed and kept.

Between two readings somebody could put another file under the name; a receipt would then speak of
words that nobody ran by.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from trlm_lab.base import strict_json
from trlm_lab.base.canon import sha256_hex
from trlm_lab.errors import TrlmError

#: Far above any list that a person reads through.
MOST_BYTES = 1 << 20


@dataclass(frozen=True)
class ReviewedFile:
    """The bytes of a reviewed file, and the name that they were read under."""

    path: Path
    data: bytes

    @classmethod
    def read(cls, path: Path, error: type[TrlmError]) -> ReviewedFile:
        """Read a file, for the last time.

        Raises:
            TrlmError: of the class `error`; it is missing, unreadable, no plain file or too large.
        """
        try:
            return cls(path, strict_json.file_bytes(path, where=str(path), limit=MOST_BYTES))
        except TrlmError as problem:
            raise error(where=str(path), detail=problem.detail) from problem

    @cached_property
    def sha256(self) -> str:
        """The SHA-256 by which plans and receipts name the file."""
        return sha256_hex(self.data)

    def document(self, error: type[TrlmError]) -> Any:
        """The JSON document that the bytes are.

        Raises:
            TrlmError: of the class `error`; they are none.
        """
        try:
            return strict_json.loads(self.data, where=str(self.path))
        except TrlmError as problem:
            raise error(where=str(self.path), detail=problem.detail) from problem
