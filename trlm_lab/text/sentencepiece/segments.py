"""The WORD and CHAR models of SentencePiece, and what every model gives: segments.

Source of facts: word_model.cc, char_model.cc and SplitIntoWords of sentencepiece 0.2.3.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

from trlm_lab.text.sentencepiece.model_file import NORMAL, USER_DEFINED, Piece
from trlm_lab.text.sentencepiece.normalizer import SPACE
from trlm_lab.text.sentencepiece.prefixes import Symbols


class Segment(NamedTuple):
    """Scalars `start` to `end` of the normalized text, and their id; -1: unknown."""

    start: int
    end: int
    id: int


class Segmenter(Protocol):
    """A model."""

    def segments(self, text: str) -> list[Segment]:
        """A normalized text in pieces, none of them empty."""


class PieceModel:
    """Whole pieces: characters and user-defined symbols, or words that begin with the space."""

    def __init__(self, pieces: tuple[Piece, ...], symbols: Symbols, *, words: bool) -> None:
        self._symbols, self._words = symbols, words
        usable = (NORMAL, USER_DEFINED)
        self._ids = {piece.text: n for n, piece in enumerate(pieces) if piece.type in usable}

    def segments(self, text: str) -> list[Segment]:
        """Words or characters; one that is no piece is unknown."""
        starts = self._word_starts(text) if self._words else self._char_starts(text)
        ends = [*starts[1:], len(text)] if starts else []
        return [
            Segment(start, end, self._ids.get(text[start:end], -1))
            for start, end in zip(starts, ends, strict=True)
        ]

    def _word_starts(self, text: str) -> list[int]:
        return [at for at, char in enumerate(text) if at == 0 or char == SPACE]

    def _char_starts(self, text: str) -> list[int]:
        starts: list[int] = []
        at = 0
        while at < len(text):
            starts.append(at)
            at += self._symbols.length(text, at) or 1
        return starts
