"""Normalizers: each turns a piece into another, and keeps the alignment as the source does.

Each holds the character tables that it goes by: the source engine's, or those of a compiled file.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import Protocol

from trlm_lab.text.aligned import Aligned
from trlm_lab.text.byte_chars import visible
from trlm_lab.text.normal_forms import FormTables, form_tables, normal_form
from trlm_lab.text.pattern import Pattern
from trlm_lab.text.scalar_sets import ScalarSet
from trlm_lab.text.tables import char_map, scalar_set


class Normalizer(Protocol):
    """One stage."""

    def apply(self, piece: Aligned) -> Aligned:
        """The normalized piece."""


def without(piece: Aligned, gone: ScalarSet) -> Aligned:
    """The piece without the scalars of a set."""
    members = gone.members
    return piece.kept([i for i, char in enumerate(piece.text) if char not in members])


def spaced(piece: Aligned, found: ScalarSet) -> Aligned:
    """The piece with the plain space in place of the scalars of a set."""
    return piece.mapped({ord(char): " " for char in found.members})


def lowercase(piece: Aligned, table: dict[int, str]) -> Aligned:
    """Lower case scalar by scalar: no locale, no final sigma."""
    return piece.transformed(
        (char, 1 if index else 0)
        for scalar in piece.text
        for index, char in enumerate(table.get(ord(scalar), scalar))
    )


@dataclass(frozen=True)
class Form:
    """NFC, NFD, NFKC or NFKD."""

    form: str
    tables: FormTables

    def apply(self, piece: Aligned) -> Aligned:
        """The piece in this form."""
        return normal_form(piece, self.form, self.tables)


@dataclass(frozen=True)
class Lowercase:
    """Lower case."""

    table: dict[int, str] = field(default_factory=partial(char_map, "lower"))

    def apply(self, piece: Aligned) -> Aligned:
        """The piece in lower case."""
        return lowercase(piece, self.table)


@dataclass(frozen=True)
class Without:
    """Scalars of a set left out: accents."""

    gone: ScalarSet

    def apply(self, piece: Aligned) -> Aligned:
        """What is left."""
        return without(piece, self.gone)


@dataclass(frozen=True)
class Nmt:
    """Control characters out, other spaces as the plain one."""

    removed: ScalarSet = field(default_factory=partial(scalar_set, "nmt_removed"))
    space: ScalarSet = field(default_factory=partial(scalar_set, "nmt_space"))

    def apply(self, piece: Aligned) -> Aligned:
        """The cleaned piece."""
        return spaced(without(piece, self.removed), self.space)


@dataclass(frozen=True)
class Strip:
    """White space at the ends left out."""

    left: bool
    right: bool
    space: ScalarSet = field(default_factory=partial(scalar_set, "strip_space"))

    def apply(self, piece: Aligned) -> Aligned:
        """What is between."""
        space, text = self.space, piece.text
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
    removed: ScalarSet = field(default_factory=partial(scalar_set, "bert_removed"))
    space: ScalarSet = field(default_factory=partial(scalar_set, "bert_space"))
    ideographs: ScalarSet = field(default_factory=partial(scalar_set, "bert_chinese"))
    tables: FormTables = field(default_factory=partial(form_tables, "NFD"))
    nonspacing: ScalarSet = field(default_factory=partial(scalar_set, "bert_nonspacing"))
    lower: dict[int, str] = field(default_factory=partial(char_map, "lower"))

    def apply(self, piece: Aligned) -> Aligned:
        """Cleaned, ideographs between spaces, without accents, in lower case."""
        if self.clean_text:
            piece = spaced(without(piece, self.removed), self.space)
        if self.chinese:
            piece = _apart(piece, self.ideographs)
        if self.strip_accents:
            piece = without(normal_form(piece, "NFD", self.tables), self.nonspacing)
        return lowercase(piece, self.lower) if self.lowercase else piece


def _apart(piece: Aligned, ideographs: ScalarSet) -> Aligned:
    if piece.text.isascii():
        return piece
    return piece.transformed(
        change
        for char in piece.text
        for change in ([(" ", 0), (char, 1), (" ", 1)] if char in ideographs else [(char, 0)])
    )
