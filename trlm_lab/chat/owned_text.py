"""Text in which every character has an owner, through all operations that templates do on text.

The owners are one byte a character. Plain `str` never reaches the output: what an operation makes
without saying whose it is belongs to the content, so a gap here can lose an owner and cannot turn
content into template text.
"""

from __future__ import annotations

import re
from collections.abc import ItemsView, Iterable, Iterator, KeysView, ValuesView
from typing import Any, Self, SupportsIndex

_RUN = re.compile(rb"(.)\1*", re.DOTALL)
TEMPLATE, CONTENT, BOS, EOS, PREFIX = range(5)
OWNER_NAMES = ("template", "content", "bos", "eos", "generation_prefix")


class Text(str):
    """A text with the owner of each character in `owners` (same length)."""

    owners: bytes

    def __new__(cls, text: str, owners: bytes) -> Self:
        made = super().__new__(cls, text)
        made.owners = owners
        return made

    def __iter__(self) -> Iterator[Text]:
        return (self[i] for i in range(len(self)))

    def __getitem__(self, key: SupportsIndex | slice) -> Text:
        if isinstance(key, slice):
            return Text(str.__getitem__(self, key), self.owners[key])
        owner = self.owners[key]
        return Text(str.__getitem__(self, key), bytes([owner]))

    def __add__(self, other: Any) -> Any:
        if not isinstance(other, str):
            return NotImplemented
        return Text(str.__add__(self, other), self.owners + owned(other).owners)

    def __mul__(self, count: SupportsIndex) -> Text:
        if not hasattr(count, "__index__"):
            return NotImplemented
        return Text(str.__mul__(self, count), self.owners * count.__index__())

    __rmul__ = __mul__


class SafeText(Text):
    """What the filter `safe` marks: `+` writes the other side with HTML escapes, as the source's.

    Printing and `~` take it as it is; what else would keep the mark is refused (`filters`).
    """

    def __getitem__(self, key: SupportsIndex | slice) -> Text:
        return SafeText.marked(super().__getitem__(key))

    def __add__(self, other: Any) -> Any:
        if not isinstance(other, str):
            return NotImplemented
        return SafeText.marked(Text.__add__(plain(self), escaped(owned(other))))

    def __radd__(self, other: Any) -> Any:
        if not isinstance(other, str):
            return NotImplemented
        return SafeText.marked(Text.__add__(escaped(owned(other)), plain(self)))

    @staticmethod
    def marked(text: Text) -> SafeText:
        """The same text with the mark."""
        return SafeText(text, text.owners)


EMPTY = Text("", b"")
_ESCAPES: dict[str, str] = {"&": "&amp;", "<": "&lt;", ">": "&gt;", "'": "&#39;", '"': "&#34;"}


def plain(text: Text) -> Text:
    """The same text without the mark."""
    return Text(text, text.owners) if isinstance(text, SafeText) else text


def escaped(text: Text) -> Text:
    """HTML escapes, each owned like the character it stands for; a marked text stays."""
    if isinstance(text, SafeText):
        return plain(text)
    parts: list[str] = [_ESCAPES.get(character, character) for character in str(text)]
    owners = [bytes([o]) * len(part) for o, part in zip(text.owners, parts, strict=True)]
    return Text("".join(parts), b"".join(owners))


def of(text: str, owner: int) -> Text:
    """A text with one owner."""
    return Text(text, bytes([owner]) * len(text))


def owned(text: str) -> Text:
    """The text itself, or content where nobody said whose it is."""
    return text if isinstance(text, Text) else of(text, CONTENT)


def joined(pieces: Iterable[Text]) -> Text:
    """All pieces in order."""
    held = list(pieces)
    if len(held) == 1:
        return held[0]
    return Text("".join(held), b"".join(piece.owners for piece in held))


def owner_of(*values: Any) -> int:
    """Content if any part of the values is content, else template."""
    return CONTENT if any(_holds_content(value) for value in values) else TEMPLATE


def _holds_content(value: Any) -> bool:
    if isinstance(value, Text):
        return CONTENT in value.owners
    if isinstance(value, (str, DataInt, DataFloat)):
        return True
    if isinstance(value, dict):
        return any(_holds_content(k) or _holds_content(v) for k, v in value.items())
    if isinstance(value, (list, tuple, KeysView, ValuesView, ItemsView)):
        return any(_holds_content(part) for part in value)
    return False


class DataInt(int):
    """An integer of the caller; what arithmetic makes of it is the template's."""


class DataFloat(float):
    """A float of the caller."""


def as_prefix(text: Text) -> Text:
    """The same text, what the template wrote now owned by the generation prefix."""
    table = bytes([PREFIX, CONTENT, BOS, EOS, PREFIX]) + bytes(range(5, 256))
    return type(text)(text, text.owners.translate(table))


def runs(text: Text) -> list[tuple[int, int, int]]:
    """Maximal runs (start, end, owner) in characters."""
    return [(m.start(), m.end(), m[1][0]) for m in _RUN.finditer(text.owners)]
