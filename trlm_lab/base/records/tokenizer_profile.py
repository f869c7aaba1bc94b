"""All of a tokenizer that decides an id, an offset or a decoded byte, as one hashed record.

Large parts (vocabulary, merges, scores, patterns, character tables) stand in it by content hash.
Two tokenizers of one profile behave alike, whatever file they were read from.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from trlm_lab.base import canon
from trlm_lab.base.records import closed
from trlm_lab.base.records.checks import require, require_sha256

SCHEMA = "trlm.tokenizer.profile.v1"


@dataclass(frozen=True)
class InputPolicy:
    """What is taken as a text; `byte_api` is whether bytes that are no UTF-8 are, and why (not)."""

    encoding: str
    ill_formed: str
    nul: str
    max_bytes: int
    max_scalars: int
    byte_api: bool
    byte_api_reason: str


@dataclass(frozen=True)
class WhiteSpaceRow:
    """What becomes of one kind of white space between two letters: before the model, in pieces.

    `pieces` is None where the tokenizer refuses the text.
    """

    between: str
    normalized: str
    pieces: tuple[str, ...] | None


@dataclass(frozen=True)
class CharacterPolicy:
    """Where character data and regular expressions come from, and what follows from them.

    `unicode` names the versions of the data; the data themselves are hashed in the stages that go
    by them. `word`, `space` and `hidden` are the sets beside added tokens and in diagnostics; where
    no flag of an added token asks for one of the first two, it is the empty set.
    """

    unicode: dict[str, str]
    word_sha256: str
    space_sha256: str
    hidden_sha256: str
    regex_syntax: str
    regex_flags: str
    case_folding: str
    byte_characters_sha256: str | None
    prefix_space: tuple[str, ...]
    white_space: tuple[WhiteSpaceRow, ...]


@dataclass(frozen=True)
class StageProfile:
    """One stage: what does it, and every parameter; large ones by hash."""

    stage: str
    parameters: dict[str, Any]


@dataclass(frozen=True)
class ModelProfile:
    """The model; `rules` say in words what its parameters leave open."""

    model: str
    tokens: int
    vocabulary_sha256: str
    parameters: dict[str, Any]
    rules: dict[str, str]
    unknown_id: int | None
    byte_fallback: bool

    def __post_init__(self) -> None:
        require_sha256(self.vocabulary_sha256, "profile.model.vocabulary_sha256")


@dataclass(frozen=True)
class AddedTokenProfile:
    """An added token with its five flags; their order is that of the source."""

    id: int
    content: str
    single_word: bool
    lstrip: bool
    rstrip: bool
    normalized: bool
    special: bool


@dataclass(frozen=True)
class Insertion:
    """Ids that the post-processor puts before and behind a text on request, and who else may."""

    before: tuple[int, ...]
    after: tuple[int, ...]
    owner: str


@dataclass(frozen=True)
class Decoding:
    """The decode modes: whose special tokens are skipped, who tidies up, how bytes are joined."""

    modes: tuple[str, ...]
    skipped_ids: tuple[int, ...]
    skipped_in: tuple[str, ...]
    tidied_in: tuple[str, ...]
    byte_joining: str
    stages: tuple[StageProfile, ...]


@dataclass(frozen=True)
class OffsetPolicy:
    """The coordinate systems of offsets; the first one is meant where none is named."""

    units: tuple[str, ...]
    alignment: str


@dataclass(frozen=True)
class TokenizerProfile:
    """The record; `source` is the library, with version, whose behaviour it pins."""

    schema: str
    source: str
    input: InputPolicy
    characters: CharacterPolicy
    normalizers: tuple[StageProfile, ...]
    pre_tokenizers: tuple[StageProfile, ...]
    model: ModelProfile
    added_tokens: tuple[AddedTokenProfile, ...]
    added_rules: dict[str, str]
    added_search: StageProfile | None
    post_processors: tuple[StageProfile, ...]
    insertion: Insertion
    special_ids: tuple[int, ...]
    truncation: str
    padding: str
    switched_off: tuple[str, ...]
    decoding: Decoding
    offsets: OffsetPolicy

    def __post_init__(self) -> None:
        require(self.schema == SCHEMA, "profile.schema", f"{self.schema!r:.60} is not {SCHEMA}")

    @property
    def profile_id(self) -> str:
        """SHA-256 of the canonical encoding of the map."""
        return canon.content_id(self.to_map())

    def to_map(self) -> dict[str, Any]:
        """The map that is hashed, stored and shown."""
        row: dict[str, Any] = closed.to_map(self)
        return row

    @classmethod
    def from_map(cls, row: Any) -> TokenizerProfile:
        """Inverse of `to_map`. Raises RecordError on unknown, missing or ill-typed keys."""
        return closed.from_map(cls, row, "profile")
