"""Post-processors: tokens put around the text's own, and white space trimmed off offsets."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial
from typing import Protocol

from trlm_lab.text.byte_chars import SPACE
from trlm_lab.text.coordinates import Span
from trlm_lab.text.records import Token
from trlm_lab.text.scalar_sets import ScalarSet
from trlm_lab.text.tables import scalar_set


class PostProcessor(Protocol):
    """One stage."""

    def apply(self, tokens: list[Token], *, insert: bool) -> list[Token]:
        """The tokens after it; `insert` allows tokens of its own."""


def inserted(number: int, text: str) -> Token:
    """A token that stands for no text."""
    return Token(number, text, (0, 0), (0, 0), inserted=True)


@dataclass(frozen=True)
class TrimOffsets:
    """Leading and trailing spaces of a token left out of its offsets (counted in scalars).

    With `prefix_space` one space before the first token is kept: it was put there.
    """

    prefix_space: bool
    space: ScalarSet = field(default_factory=partial(scalar_set, "rust_space"))

    def apply(self, tokens: list[Token], *, insert: bool) -> list[Token]:
        """The same tokens with narrower spans."""
        return [
            replace(token, span=self._span(token.text, token.span, first=index == 0))
            for index, token in enumerate(tokens)
        ]

    def _span(self, text: str, span: Span, *, first: bool) -> Span:
        start, end = span
        leading, trailing = self._spaces(text), self._spaces(text[::-1])
        if leading:
            if (first or start == 0) and self.prefix_space and leading == 1:
                leading = 0
            start = min(start + leading, end)
        if trailing and end >= trailing:
            end = max(end - trailing, start)
        return start, end

    def _spaces(self, text: str) -> int:
        count = 0
        for char in text:
            if char != SPACE and char not in self.space:
                break
            count += 1
        return count


@dataclass(frozen=True)
class Template:
    """Tokens of the post-processor in order; None stands for the text's own."""

    pieces: tuple[Token | None, ...]

    def apply(self, tokens: list[Token], *, insert: bool) -> list[Token]:
        """The tokens with the inserted ones, if allowed."""
        out: list[Token] = []
        for piece in self.pieces:
            if piece is None:
                out += tokens
            elif insert:
                out.append(piece)
        return out
