"""llama.cpp's three models: merges by rank, merges by score, and the longest piece first.

Source of facts: src/llama-vocab.cpp of llama-cpp-python 0.3.36, sessions `spm` (line 124), `bpe`
(577) and `wpm` (761).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from trlm_lab.errors import UnknownTokenMissingError
from trlm_lab.text.models import Part
from trlm_lab.text.models.merging import Merges, merged
from trlm_lab.text.models.score_merging import merged_spans

#: Stands before every word of a WordPiece vocabulary.
PHANTOM = "\u2581"
_KEPT, _LONGEST_KEPT = 20_000, 256


def _byte_name(byte: int) -> str:
    return f"<0x{byte:02X}>"


@dataclass(frozen=True)
class GgmlBpe:
    """Merges by rank over texts; what they make need not be a token.

    Such a text falls apart: into the tokens of its ASCII characters, the rest being lost, or with
    `raw` into bytes. `line_words`: a word of line ends alone is looked up before it is merged.
    """

    ids: dict[str, int]
    merges: Merges
    #: Numbers of all texts of merges and of the vocabulary; those of tokens are their ids.
    numbers: dict[str, int] = field(repr=False)
    ignore_merges: bool = False
    raw: bool = False
    line_words: bool = False
    names: dict[int, str] = field(default_factory=dict, repr=False)
    _known: dict[str, tuple[Part, ...]] = field(default_factory=dict, repr=False)

    def text_of(self, number: int) -> str | None:
        """The token of an id."""
        return self.names.get(number)

    def without(self, numbers: frozenset[int]) -> GgmlBpe:
        """No token and no merge gives one of these ids."""
        ids = {text: number for text, number in self.ids.items() if number not in numbers}
        merges = {pair: made for pair, made in self.merges.items() if made[1] not in numbers}
        return replace(self, ids=ids, merges=merges, _known={})

    def tokenize(self, text: str) -> tuple[Part, ...]:
        """The tokens of one piece; a character without token may have none."""
        known = self._known.get(text)
        if known is None:
            known = self._tokenize(text)
            if len(text) <= _LONGEST_KEPT and len(self._known) < _KEPT:
                self._known[text] = known
        return known

    def _tokenize(self, text: str) -> tuple[Part, ...]:
        whole = self.ids.get(text)
        lines = self.line_words and not text.strip("\n")
        if whole is not None and (self.ignore_merges or lines):
            return (Part(whole, text, 0, len(text)),)
        symbols = merged([(self.numbers.get(char, -1), 1) for char in text], self.merges)
        out: list[Part] = []
        at = 0
        for _, size in symbols:
            out += self._token(text[at : at + size], at)
            at += size
        return tuple(out)

    def _token(self, text: str, at: int) -> list[Part]:
        number = self.ids.get(text)
        if number is not None:
            return [Part(number, text, at, at + len(text))]
        out: list[Part] = []
        for index, char in enumerate(text, at):
            names = [_byte_name(byte) for byte in char.encode()] if self.raw else [char]
            if not self.raw and not char.isascii():
                continue
            out += [Part(self.ids[n], n, index, index + 1) for n in names if n in self.ids]
        return out


@dataclass(frozen=True)
class GgmlSpm:
    """Merges by score; a scalar without token is written as its bytes."""

    ids: dict[str, int]
    ranks: dict[str, int] = field(repr=False)
    names: dict[int, str] = field(default_factory=dict, repr=False)

    def text_of(self, number: int) -> str | None:
        """The token of an id."""
        return self.names.get(number)

    def without(self, numbers: frozenset[int]) -> GgmlSpm:
        """No token and no merge gives one of these ids."""
        ids = {text: number for text, number in self.ids.items() if number not in numbers}
        return replace(self, ids=ids, ranks={text: self.ranks[text] for text in ids})

    def tokenize(self, text: str) -> tuple[Part, ...]:
        """The tokens of one piece."""
        out: list[Part] = []
        for start, end in merged_spans(text, range(len(text)), self.ranks):
            piece = text[start:end]
            number = self.ids.get(piece)
            if number is not None:
                out.append(Part(number, piece, start, end))
                continue
            for byte in piece.encode():
                names = (_byte_name(byte), chr(byte)) if byte < 0x80 else (_byte_name(byte),)
                name = next((name for name in names if name in self.ids), None)
                if name is None:
                    # The token of a byte may be a control token, which content has not.
                    raise UnknownTokenMissingError(text=repr(piece))
                out.append(Part(self.ids[name], name, start, end))
        return tuple(out)


@dataclass(frozen=True)
class GgmlWordPiece:
    """The longest piece first in a word that begins with the phantom space; else one unknown."""

    ids: dict[str, int]
    unknown: int
    longest: int
    names: dict[int, str] = field(default_factory=dict, repr=False)

    def text_of(self, number: int) -> str | None:
        """The token of an id."""
        return self.names.get(number)

    def without(self, numbers: frozenset[int]) -> GgmlWordPiece:
        """These ids are given for no word; the unknown token stays."""
        ids = {text: number for text, number in self.ids.items() if number not in numbers}
        return replace(self, ids=ids)

    def tokenize(self, text: str) -> tuple[Part, ...]:
        """The tokens of one word."""
        out: list[Part] = []
        start = 0
        while start < len(text):
            part = self._longest(text, start)
            if part is None:
                return (Part(self.unknown, self.names[self.unknown], 0, len(text)),)
            out.append(part)
            start = part.end
        return tuple(out)

    def _longest(self, text: str, start: int) -> Part | None:
        for end in range(min(len(text), start + self.longest), start, -1):
            number = self.ids.get(text[start:end])
            if number is not None:
                return Part(number, text[start:end], start, end)
        return None


def numbered(ids: dict[str, int], merges: list[tuple[str, str]]) -> tuple[Merges, dict[str, int]]:
    """Merges by numbers, and the number of every text; the first of two equal merges counts.

    Texts that are no token get numbers above the vocabulary.
    """
    numbers = dict(ids)
    table: Merges = {}

    def number(text: str) -> int:
        return numbers.setdefault(text, len(numbers))

    for rank, (left, right) in enumerate(merges):
        if left and right:
            table.setdefault((number(left), number(right)), (rank, number(left + right)))
    return table, numbers


def ranked(ids: dict[str, int], scores: list[float]) -> dict[str, int]:
    """Tokens by score, the best one being 0; equal scores have one rank."""
    order = {score: rank for rank, score in enumerate(sorted(set(scores), reverse=True))}
    return {text: order[scores[number]] for text, number in ids.items()}


def names_of(ids: dict[str, int]) -> dict[int, str]:
    """Tokens by id."""
    return {number: text for text, number in ids.items()}
