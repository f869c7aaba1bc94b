"""What a tokenizer gives: tokens with offsets in four coordinates, and every stage before them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from trlm_lab.text.coordinates import Coordinates, Span


@dataclass(frozen=True, slots=True)
class Token:
    """One id and its text; spans in scalars of the original and of the normalized text.

    `inserted` tokens come from the post-processor and stand for no text.
    """

    id: int
    text: str
    span: Span
    normal: Span
    inserted: bool = False


@dataclass(frozen=True, slots=True)
class StagePiece:
    """A piece between two stages: its text, the original scalars, and its id once it is a token."""

    text: str
    span: Span
    id: int | None = None


@dataclass(frozen=True, slots=True)
class Stage:
    """The pieces after one component, `name` being its JSON pointer in the file."""

    name: str
    kind: str
    pieces: tuple[StagePiece, ...]


@dataclass(frozen=True)
class Encoding:
    """Tokens of a text; `normalized` is the text after the normalizer, `stages` if traced."""

    text: str
    normalized: str
    tokens: tuple[Token, ...]
    stages: tuple[Stage, ...] = field(default=())

    @property
    def ids(self) -> list[int]:
        """Token ids."""
        return [token.id for token in self.tokens]

    def offsets(self, unit: str = "utf8_byte") -> list[Span]:
        """Spans in one unit: utf8_byte, scalar, utf16, or normalized_utf8_byte."""
        if unit == "normalized_utf8_byte":
            place = Coordinates(self.normalized)
            return [place.utf8(token.normal) for token in self.tokens]
        place = Coordinates(self.text)
        spans = [token.span for token in self.tokens]
        if unit == "scalar":
            return spans
        convert = {"utf8_byte": place.utf8, "utf16": place.utf16}[unit]
        return [convert(span) for span in spans]

    def stage_rows(self) -> list[dict[str, Any]]:
        """The stages as JSON values, offsets in original UTF-8 bytes."""
        place = Coordinates(self.text)
        return [
            {
                "stage": stage.name,
                "kind": stage.kind,
                "pieces": [
                    {"text": one.text, "offsets": list(place.utf8(one.span))}
                    | ({} if one.id is None else {"id": one.id})
                    for one in stage.pieces
                ],
            }
            for stage in self.stages
        ]
