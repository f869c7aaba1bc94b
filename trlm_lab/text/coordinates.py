"""One place in a text in three coordinates: scalars, UTF-8 bytes, UTF-16 units."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import accumulate

Span = tuple[int, int]


def _bytes(char: str) -> int:
    code = ord(char)
    return 1 if code < 0x80 else 2 if code < 0x800 else 3 if code < 0x10000 else 4


def _units(char: str) -> int:
    return 1 if ord(char) < 0x10000 else 2


class Coordinates:
    """Conversions from scalar indices of one text; the end of the text is a place too."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._utf8: Sequence[int] | None = None
        self._utf16: Sequence[int] | None = None

    def utf8(self, span: Span) -> Span:
        """A span of scalars in UTF-8 bytes."""
        if self._utf8 is None:
            self._utf8 = self._starts(_bytes)
        return self._utf8[span[0]], self._utf8[span[1]]

    def utf16(self, span: Span) -> Span:
        """A span of scalars in UTF-16 units."""
        if self._utf16 is None:
            self._utf16 = self._starts(_units)
        return self._utf16[span[0]], self._utf16[span[1]]

    def _starts(self, size: Callable[[str], int]) -> Sequence[int]:
        if self._text.isascii():
            return range(len(self._text) + 1)
        return list(accumulate(map(size, self._text), initial=0))


def scalar_of_byte(text: str) -> Sequence[int]:
    """For every UTF-8 byte of a text, the index of the scalar that it belongs to."""
    if text.isascii():
        return range(len(text))
    return [index for index, char in enumerate(text) for _ in range(_bytes(char))]
