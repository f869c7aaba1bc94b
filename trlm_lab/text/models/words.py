"""WordPiece (the longest piece first) and WordLevel (whole pieces)."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from trlm_lab.errors import UnknownTokenMissingError
from trlm_lab.text.models import Part


def _unknown_part(ids: dict[str, int], unknown: str, text: str) -> tuple[Part, ...]:
    if unknown not in ids:
        raise UnknownTokenMissingError(text=repr(text[:20]))
    return (Part(ids[unknown], unknown, 0, len(text)),)


def _left(ids: dict[str, int], gone: frozenset[int], unknown: str) -> dict[str, int]:
    return {text: n for text, n in ids.items() if n not in gone or text == unknown}


@dataclass(frozen=True)
class WordPiece:
    """Pieces within a word; those that do not begin it are written with `prefix`.

    A word longer than `longest` scalars, or with a place where no piece fits, is one unknown.
    """

    ids: dict[str, int]
    unknown: str
    prefix: str
    longest: int
    _texts: dict[int, str] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        self._texts.update({number: text for text, number in self.ids.items()})

    def text_of(self, number: int) -> str | None:
        """The token of an id."""
        return self._texts.get(number)

    def without(self, numbers: frozenset[int]) -> WordPiece:
        """These ids are given for no word; the unknown token stays."""
        return replace(self, ids=_left(self.ids, numbers, self.unknown), _texts={})

    def tokenize(self, text: str) -> tuple[Part, ...]:
        """The tokens of one word.

        Raises:
            UnknownTokenMissingError: the word is unknown, and so is the unknown token.
        """
        if len(text) > self.longest:
            return _unknown_part(self.ids, self.unknown, text)
        out: list[Part] = []
        start = 0
        while start < len(text):
            part = self._longest(text, start)
            if part is None:
                return _unknown_part(self.ids, self.unknown, text)
            out.append(part)
            start = part.end
        return tuple(out)

    def _longest(self, text: str, start: int) -> Part | None:
        for end in range(len(text), start, -1):
            piece = (self.prefix if start else "") + text[start:end]
            if piece in self.ids:
                return Part(self.ids[piece], piece, start, end)
        return None


@dataclass(frozen=True)
class WordLevel:
    """A token a word."""

    ids: dict[str, int]
    unknown: str
    _texts: dict[int, str] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        self._texts.update({number: text for text, number in self.ids.items()})

    def text_of(self, number: int) -> str | None:
        """The token of an id."""
        return self._texts.get(number)

    def without(self, numbers: frozenset[int]) -> WordLevel:
        """These ids are given for no word; the unknown token stays."""
        return replace(self, ids=_left(self.ids, numbers, self.unknown), _texts={})

    def tokenize(self, text: str) -> tuple[Part, ...]:
        """The one token of a word.

        Raises:
            UnknownTokenMissingError: the word is unknown, and so is the unknown token.
        """
        if text in self.ids:
            return (Part(self.ids[text], text, 0, len(text)),)
        return _unknown_part(self.ids, self.unknown, text)
