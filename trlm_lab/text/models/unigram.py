"""Unigram: the path of the highest score through all pieces, ties to the one found first.

Source of facts: Kudo's model as `tokenizers` runs it: float64 sums from the left, a later path
wins only by a larger score, an unknown scalar costs ten below the lowest score, unknown neighbours
become one token.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property

from trlm_lab.errors import UnknownTokenMissingError
from trlm_lab.text.models import Part

UNKNOWN_PENALTY = 10.0
#: Score, start and id of the best path that ends at a place; no start: none ends there.
_Node = tuple[float, int, int]


@dataclass(frozen=True)
class Unigram:
    """Pieces with scores (float64, shape (V,)), their order being their ids."""

    pieces: tuple[tuple[str, float], ...]
    unknown_id: int | None
    byte_fallback: bool
    hidden: frozenset[int] = frozenset()
    ids: dict[str, int] = field(default_factory=dict, repr=False)
    _lengths: dict[str, tuple[int, ...]] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        lengths: dict[str, set[int]] = {}
        for number, (piece, _) in enumerate(self.pieces):
            if number in self.hidden:
                continue
            self.ids[piece] = number
            if piece:
                lengths.setdefault(piece[0], set()).add(len(piece))
        # Only lengths that a piece with this first scalar has, ascending.
        self._lengths.update({first: tuple(sorted(rows)) for first, rows in lengths.items()})

    def text_of(self, number: int) -> str | None:
        """The token of an id."""
        return self.pieces[number][0] if 0 <= number < len(self.pieces) else None

    def without(self, numbers: frozenset[int]) -> Unigram:
        """No path goes through these pieces; the unknown one stays."""
        return replace(self, hidden=numbers - {self.unknown_id}, ids={}, _lengths={})

    def tokenize(self, text: str) -> tuple[Part, ...]:
        """The tokens of one piece.

        Raises:
            UnknownTokenMissingError: nothing stands for a scalar, and there is no unknown token.
        """
        out: list[Part] = []
        for start, end in self._spans(text):
            piece = text[start:end]
            number = self.ids.get(piece)
            if number is None and self.byte_fallback:
                names = [f"<0x{byte:02X}>" for byte in piece.encode()]
                if all(name in self.ids for name in names):
                    out += [Part(self.ids[name], name, start, end) for name in names]
                    continue
            if number is None:
                number = self._unknown(piece)
            out.append(Part(number, piece, start, end))
        return tuple(out)

    def _unknown(self, piece: str) -> int:
        if self.unknown_id is None:
            raise UnknownTokenMissingError(text=repr(piece[:20]))
        return self.unknown_id

    @cached_property
    def _unknown_score(self) -> float:
        return min((score for _, score in self.pieces), default=0.0) - UNKNOWN_PENALTY

    def _spans(self, text: str) -> list[tuple[int, int]]:
        best = self._paths(text)
        out: list[tuple[int, int]] = []
        end, unknown = len(text), False
        while end > 0:
            _, start, number = best[end]
            if unknown and number == self.unknown_id:
                out[-1] = (start, out[-1][1])
            else:
                out.append((start, end))
            unknown = number == self.unknown_id
            end = start
        return out[::-1]

    def _paths(self, text: str) -> list[_Node]:
        best: list[_Node] = [(0.0, -1, -1)] * (len(text) + 1)
        for start, first in enumerate(text):
            here = best[start][0]
            single = False
            for length in self._lengths.get(first, ()):
                number = self.ids.get(text[start : start + length])
                if number is None or start + length > len(text):
                    continue
                single = single or length == 1
                score = self.pieces[number][1] + here
                if best[start + length][1] < 0 or score > best[start + length][0]:
                    best[start + length] = (score, start, number)
            if not single:
                score = self._unknown_score + here
                if best[start + 1][1] < 0 or score > best[start + 1][0]:
                    best[start + 1] = (score, start, self._unknown(first))
        return best
