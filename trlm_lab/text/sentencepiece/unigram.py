"""The Unigram model of SentencePiece: the best path in float32, ties to the one found first.

Source of facts: Model::EncodeOptimized in unigram_model.cc of sentencepiece 0.2.3. A sum of two
float32 numbers taken in float64 and rounded to float32 is the float32 sum.
"""

from __future__ import annotations

from array import array

from trlm_lab.text.sentencepiece.model_file import NORMAL, USER_DEFINED, Piece
from trlm_lab.text.sentencepiece.segments import Segment

_UNKNOWN_PENALTY = 10.0
#: A sum beyond this is moved back to 0, with all sums that still count.
_MOVED = 100_000.0
#: The lowest score of a model without normal piece.
_FLOAT32_MAX = 3.4028234663852886e38


class UnigramModel:
    """Pieces with float32 scores; unused ones are on no path."""

    def __init__(self, pieces: tuple[Piece, ...]) -> None:
        self._scores: dict[str, tuple[float, int]] = {}
        lengths: dict[str, set[int]] = {}
        for number, piece in enumerate(pieces):
            if piece.type in (NORMAL, USER_DEFINED):
                self._scores[piece.text] = (_score(piece), number)
                lengths.setdefault(piece.text[0], set()).add(len(piece.text))
        self._lengths = {first: sorted(rows) for first, rows in lengths.items()}
        normal = [piece.score for piece in pieces if piece.type == NORMAL]
        self._unknown = _rounded(min(normal, default=_FLOAT32_MAX) - _UNKNOWN_PENALTY)

    def segments(self, text: str) -> list[Segment]:
        """A normalized text in pieces; -1 for a scalar that no piece stands for."""
        path = _Path(len(text))
        for start, first in enumerate(text):
            path.begin(start)
            single = False
            for length in self._lengths.get(first, ()):
                found = self._scores.get(text[start : start + length])
                if found and start + length <= len(text):
                    path.offer(start, start + length, *found)
                    single = single or length == 1
            if not single:
                path.offer(start, start + 1, self._unknown, -1)
        return path.segments()


class _Path:
    """The best way to every place: its sum (float32), where its last piece starts, and its id."""

    def __init__(self, size: int) -> None:
        self._sums = array("f", bytes(4 * (size + 1)))
        self._starts = [-1] * (size + 1)
        self._ids = [-1] * (size + 1)
        self._frontier = 0
        self._cell = array("f", [0.0])

    def begin(self, start: int) -> None:
        """Go on from a place that the text reaches."""
        offset = self._sums[start]
        if -_MOVED <= offset <= _MOVED:
            return
        for at in range(start, self._frontier + 1):
            if at == start or self._starts[at] >= 0:
                self._sums[at] -= offset

    def offer(self, start: int, end: int, score: float, number: int) -> None:
        """A piece; it counts if it is the first or better than what was found before."""
        self._frontier = max(self._frontier, end)
        self._cell[0] = score + self._sums[start]
        if self._starts[end] < 0 or self._cell[0] > self._sums[end]:
            self._sums[end], self._starts[end], self._ids[end] = self._cell[0], start, number

    def segments(self) -> list[Segment]:
        """The best way to the end."""
        out: list[Segment] = []
        end = len(self._starts) - 1
        while end > 0:
            start = self._starts[end]
            out.append(Segment(start, end, self._ids[end]))
            end = start
        return out[::-1]


def _score(piece: Piece) -> float:
    """The score of a piece; a user-defined one has a tenth for each byte but the first."""
    if piece.type == USER_DEFINED:
        return _rounded(0.1 * (len(piece.text.encode()) - 1))
    return piece.score


def _rounded(value: float) -> float:
    """To float32."""
    return array("f", [value])[0]
