"""Normalizers: each turns a piece into another, and keeps the alignment as the source does."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Protocol

from trlm_lab.text.aligned import Aligned
from trlm_lab.text.byte_chars import visible
from trlm_lab.text.normal_forms import normal_form
from trlm_lab.text.pattern import Pattern
from trlm_lab.text.tables import char_map, scalar_set


class Normalizer(Protocol):
    """One stage."""

    def apply(self, piece: Aligned) -> Aligned:
        """The normalized piece."""


@cache
def _members(name: str) -> frozenset[str]:
    return frozenset(chr(c) for low, high in scalar_set(name).ranges for c in range(low, high + 1))


@cache
def _to_space(name: str) -> dict[int, str | int]:
    return dict.fromkeys(map(ord, _members(name)), " ")


def without(piece: Aligned, name: str) -> Aligned:
    """The piece without the scalars of one table."""
    gone = _members(name)
    return piece.kept([i for i, char in enumerate(piece.text) if char not in gone])


def lowercase(piece: Aligned) -> Aligned:
    """Lower case scalar by scalar: no locale, no final sigma."""
    table = char_map("lower")
    return piece.transformed(
        (char, 1 if index else 0)
        for scalar in piece.text
        for index, char in enumerate(table.get(ord(scalar), scalar))
    )


@dataclass(frozen=True)
class Form:
    """NFC, NFD, NFKC or NFKD."""

    form: str

    def apply(self, piece: Aligned) -> Aligned:
        """The piece in this form."""
        return normal_form(piece, self.form)


@dataclass(frozen=True)
class Lowercase:
    """Lower case."""

    def apply(self, piece: Aligned) -> Aligned:
        """The piece in lower case."""
        return lowercase(piece)


@dataclass(frozen=True)
class Without:
    """Scalars of a table left out: accents."""

    name: str

    def apply(self, piece: Aligned) -> Aligned:
        """What is left."""
        return without(piece, self.name)


@dataclass(frozen=True)
class Nmt:
    """Control characters out, other spaces as the plain one."""

    def apply(self, piece: Aligned) -> Aligned:
        """The cleaned piece."""
        return without(piece, "nmt_removed").mapped(_to_space("nmt_space"))


@dataclass(frozen=True)
class Strip:
    """White space at the ends left out."""

    left: bool
    right: bool

    def apply(self, piece: Aligned) -> Aligned:
        """What is between."""
        space, text = scalar_set("strip_space"), piece.text
        start, end = 0, len(text)
        while self.left and start < end and text[start] in space:
            start += 1
        while self.right and end > start and text[end - 1] in space:
            end -= 1
        return piece.part(start, end)


@dataclass(frozen=True)
class Replace:
    """A content in place of every match."""

    pattern: Pattern
    content: str

    def apply(self, piece: Aligned) -> Aligned:
        """The piece with the content."""
        return piece.replaced(self.pattern.spans(piece.text), self.content)


@dataclass(frozen=True)
class Prepend:
    """A text before a piece that is not empty."""

    prefix: str

    def apply(self, piece: Aligned) -> Aligned:
        """The longer piece."""
        return piece.prefixed(self.prefix)


@dataclass(frozen=True)
class Bytes:
    """Every UTF-8 byte as a visible character."""

    def apply(self, piece: Aligned) -> Aligned:
        """The piece in visible characters."""
        return piece.transformed(
            (char, 1 if index else 0)
            for scalar in piece.text
            for index, char in enumerate(visible(scalar))
        )


@dataclass(frozen=True)
class Bert:
    """The four steps of BERT, in its order."""

    clean_text: bool
    chinese: bool
    strip_accents: bool
    lowercase: bool

    def apply(self, piece: Aligned) -> Aligned:
        """Cleaned, ideographs between spaces, without accents, in lower case."""
        if self.clean_text:
            piece = without(piece, "bert_removed").mapped(_to_space("bert_space"))
        if self.chinese:
            piece = _spaced(piece)
        if self.strip_accents:
            piece = without(normal_form(piece, "NFD"), "bert_nonspacing")
        return lowercase(piece) if self.lowercase else piece


def _spaced(piece: Aligned) -> Aligned:
    ideographs = scalar_set("bert_chinese")
    if piece.text.isascii():
        return piece
    return piece.transformed(
        change
        for char in piece.text
        for change in ([(" ", 0), (char, 1), (" ", 1)] if char in ideographs else [(char, 0)])
    )
