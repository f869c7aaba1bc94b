"""A golden vector of a tokenizer, and the set of them: closed records, in canonical CBOR.

The byte form is docs/formats/tokenizer-vectors.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from trlm_lab.base import canon
from trlm_lab.base.records import closed
from trlm_lab.base.records.checks import require, require_sha256
from trlm_lab.base.records.tokenizer_profile import TokenizerProfile
from trlm_lab.text.utf8 import Bounds

SCHEMA = "trlm.tokenizer.vectors.v1"
TEXT_API = "text"


@dataclass(frozen=True)
class StageRow:
    """The pieces after one stage: texts, original bytes (start, end, start, …), ids of tokens."""

    stage: str
    kind: str
    texts: tuple[str, ...]
    offsets: tuple[int, ...]
    ids: tuple[int | None, ...]


@dataclass(frozen=True)
class DecodedRow:
    """What ids decode to in one mode: exact bytes, and the text that is shown."""

    data: bytes
    text: str


@dataclass(frozen=True)
class Expected:
    """Everything that follows from the input; `offsets` by unit, as (start, end, start, …).

    `inserted` tokens stand for no text. `invertible` is whether the raw bytes are the input.
    """

    normalized: str
    stages: tuple[StageRow, ...]
    ids: tuple[int, ...]
    tokens: tuple[str, ...]
    inserted: tuple[bool, ...]
    offsets: dict[str, tuple[int, ...]]
    decoded: dict[str, DecodedRow]
    invertible: bool


@dataclass(frozen=True)
class Failure:
    """A refusal: its code, and the offset of the byte that it names."""

    code: str
    index: int | None


@dataclass(frozen=True)
class Vector:
    """The input is `repeats` times `data`; either it is refused, or everything is expected."""

    name: str
    api: str
    data: bytes
    repeats: int
    add_special_tokens: bool
    max_bytes: int
    max_scalars: int
    expected: Expected | None
    failure: Failure | None

    def __post_init__(self) -> None:
        one = (self.expected is None) != (self.failure is None)
        require(one, self.name, "a vector has either what is expected or a failure")
        require(self.api == TEXT_API, self.name, f"{self.api!r:.40} is no API")
        require(self.repeats > 0, self.name, f"{self.repeats} repetitions")

    @property
    def group(self) -> str:
        """The class of the corpus."""
        return self.name.partition("/")[0]

    @property
    def input(self) -> bytes:
        """The bytes that are given to the API."""
        return self.data * self.repeats

    @property
    def bounds(self) -> Bounds:
        """The bounds that hold."""
        return Bounds(self.max_bytes, self.max_scalars)


@dataclass(frozen=True)
class TokenizerBytes:
    """The file of the tokenizer itself, so that an engine can be judged from the vectors alone."""

    kind: str
    sha256: str
    data: bytes

    def __post_init__(self) -> None:
        require_sha256(self.sha256, "tokenizer.sha256")
        found = canon.sha256_hex(self.data)
        require(found == self.sha256, "tokenizer.data", f"has the SHA-256 {found}")


@dataclass(frozen=True)
class VectorSet:
    """Vectors of one tokenizer, the profile that they are of, and why classes are small."""

    schema: str
    profile: TokenizerProfile
    tokenizer: TokenizerBytes
    finite: dict[str, str]
    vectors: tuple[Vector, ...]

    def __post_init__(self) -> None:
        require(self.schema == SCHEMA, "schema", f"{self.schema!r:.60} is not {SCHEMA}")
        names = [one.name for one in self.vectors]
        require(len(set(names)) == len(names), "vectors", "two vectors have one name")

    def counts(self) -> dict[str, int]:
        """Vectors by class, in order."""
        out: dict[str, int] = {}
        for one in self.vectors:
            out[one.group] = out.get(one.group, 0) + 1
        return out

    def encode(self) -> bytes:
        """Canonical CBOR."""
        return canon.encode(closed.to_map(self))

    @classmethod
    def decode(cls, data: bytes, *, where: str = "") -> VectorSet:
        """Inverse of `encode`.

        Raises:
            NotCanonicalError: no canonical CBOR.
            RecordError: another schema, keys or types; a file that is not the one that is named.
        """
        row: Any = canon.decode(data, where=where)
        return closed.from_map(cls, row, "vectors")
