"""The BPE model of SentencePiece: merges by score; a piece that is unused is taken apart again.

Source of facts: bpe_model.cc of sentencepiece 0.2.3, without dropout.
"""

from __future__ import annotations

import struct

from trlm_lab.text.models.score_merging import merged_spans
from trlm_lab.text.sentencepiece.model_file import NORMAL, UNUSED, USER_DEFINED, Piece
from trlm_lab.text.sentencepiece.prefixes import Symbols
from trlm_lab.text.sentencepiece.segments import Segment

#: How deep an unused piece is taken apart.
_DEEPEST = 100


def _order(score: float) -> int:
    """Float32 bits as a number with the same order; -0 comes below +0, as in the source."""
    bits: int = struct.unpack("<i", struct.pack("<f", score))[0]
    return bits if bits >= 0 else -(bits & 0x7FFFFFFF) - 1


class BpeModel:
    """Scores by piece; what is neither normal, user-defined nor unused is never made."""

    def __init__(self, pieces: tuple[Piece, ...], symbols: Symbols) -> None:
        self._symbols = symbols
        self._ids: dict[str, int] = {}
        self._unused: set[str] = set()
        scores: dict[str, int] = {}
        for number, piece in enumerate(pieces):
            if piece.type in (NORMAL, USER_DEFINED, UNUSED):
                self._ids[piece.text] = number
                scores[piece.text] = -_order(piece.score)
            if piece.type == UNUSED:
                self._unused.add(piece.text)
        self._ranks = scores

    def segments(self, text: str) -> list[Segment]:
        """A normalized text in pieces; -1 for one that is unknown."""
        starts, frozen = self._symbols_of(text)
        cuts: dict[str, int] = {}

        def seen(start: int, cut: int, end: int) -> None:
            if text[start:end] in self._unused:
                cuts[text[start:end]] = cut - start

        spans = merged_spans(
            text, starts, self._ranks, frozen=frozen, seen=seen if self._unused else None
        )
        out: list[Segment] = []
        for start, end in spans:
            self._apart(text, start, end, cuts, out)
        return out

    def _symbols_of(self, text: str) -> tuple[list[int], frozenset[int]]:
        """User-defined symbols and, between them, scalars."""
        starts: list[int] = []
        frozen: list[int] = []
        at = 0
        while at < len(text):
            length = self._symbols.length(text, at)
            starts.append(at)
            if length:
                frozen.append(at)
            at += length or 1
        return starts, frozenset(frozen)

    def _apart(
        self, text: str, start: int, end: int, cuts: dict[str, int], out: list[Segment]
    ) -> None:
        waiting = [(start, end, 0)]
        while waiting:
            start, end, depth = waiting.pop()
            piece = text[start:end]
            number = self._ids.get(piece, -1)
            if number < 0 or piece not in self._unused or depth > _DEEPEST:
                out.append(Segment(start, end, number))
            elif piece not in cuts:
                out.append(Segment(start, end, -1))
            else:
                cut = start + cuts[piece]
                waiting += [(cut, end, depth + 1), (start, cut, depth + 1)]
