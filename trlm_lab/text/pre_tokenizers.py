"""Pre-tokenizers: each cuts a piece into pieces, and may write them in other characters."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Protocol

from trlm_lab.text.aligned import Aligned
from trlm_lab.text.byte_chars import ascii_visible, visible
from trlm_lab.text.coordinates import Span
from trlm_lab.text.pattern import Pattern, literal, of_runs
from trlm_lab.text.scalar_sets import ScalarSet
from trlm_lab.text.splitting import cut, parts
from trlm_lab.text.tables import scalar_set, table

#: The split of GPT-2, which ByteLevel has built in.
GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"


Runs = Sequence[Sequence[int]]


class PreTokenizer(Protocol):
    """One stage."""

    def split(self, piece: Aligned) -> list[Aligned]:
        """The pieces of one piece."""


def _pieces(piece: Aligned, spans: list[Span]) -> list[Aligned]:
    return [piece.part(start, end) for start, end in spans if start < end]


def _runs(text: str, found: ScalarSet, *, single: bool) -> list[Span]:
    """Scalars of a set: each, or in runs."""
    out: list[Span] = []
    for index, char in enumerate(text):
        if char in found:
            if out and not single and out[-1][1] == index:
                out[-1] = (out[-1][0], index + 1)
            else:
                out.append((index, index + 1))
    return out


@dataclass(frozen=True)
class Split:
    """A pattern with a behaviour."""

    pattern: Pattern
    behaviour: str
    invert: bool = False

    def split(self, piece: Aligned) -> list[Aligned]:
        """Cut at the matches; inverted, at everything else."""
        rows = parts(self.pattern.spans(piece.text), len(piece.text), invert=self.invert)
        return _pieces(piece, cut(rows, self.behaviour))


@dataclass(frozen=True)
class CharSplit:
    """Scalars of a set with a behaviour: white space, punctuation, digits, delimiters."""

    found: ScalarSet
    behaviour: str

    def split(self, piece: Aligned) -> list[Aligned]:
        """Every scalar of the set is a match of its own."""
        rows = parts(_runs(piece.text, self.found, single=True), len(piece.text))
        return _pieces(piece, cut(rows, self.behaviour))


def whitespace_words() -> Split:
    """Runs of word characters, and runs of what is neither word nor white space."""
    word, space = scalar_set("regex_word"), scalar_set("regex_space")
    return Split(of_runs(word, (word | space).inverse()), "Removed", invert=True)


@dataclass(frozen=True)
class ByteLevel:
    """The split of GPT-2 if asked for, then every byte as a visible character."""

    prefix_space: bool
    pattern: Pattern | None

    def split(self, piece: Aligned) -> list[Aligned]:
        """Pieces in visible characters, aligned with the scalars of their bytes."""
        if self.prefix_space and not piece.text.startswith(" "):
            piece = piece.prefixed(" ")
        cuts = [piece]
        if self.pattern:
            spans = self.pattern.spans(piece.text)
            cuts = _pieces(piece, [span for span, _ in parts(spans, len(piece.text))])
        return [byte_level(one) for one in cuts]


def byte_level(piece: Aligned) -> Aligned:
    """The same piece with every byte as a visible character."""
    if piece.text.isascii():
        return Aligned(ascii_visible(piece.text), piece.source, piece.normal, piece.base)
    return piece.transformed(
        (char, 1 if index else 0)
        for scalar in piece.text
        for index, char in enumerate(visible(scalar))
    )


@dataclass(frozen=True)
class Metaspace:
    """Spaces become a visible character, one may be put in front, and words are cut at it."""

    replacement: str
    prepend_scheme: str
    cuts: bool

    def split(self, piece: Aligned) -> list[Aligned]:
        """Words that begin with the character."""
        piece = piece.mapped({0x20: self.replacement})
        starts = bool(piece.text) and piece.origin(0, 1)[0] == 0
        wanted = self.prepend_scheme == "always" or (self.prepend_scheme == "first" and starts)
        if wanted and not piece.text.startswith(self.replacement):
            piece = piece.prefixed(self.replacement)
        if not self.cuts:
            return [piece]
        rows = parts(literal(self.replacement).spans(piece.text), len(piece.text))
        return _pieces(piece, cut(rows, "MergedWithNext"))


@dataclass(frozen=True)
class FixedLength:
    """Pieces of so many scalars."""

    length: int

    def split(self, piece: Aligned) -> list[Aligned]:
        """The last one may be shorter."""
        ends = range(0, len(piece.text), self.length)
        return [piece.part(at, min(at + self.length, len(piece.text))) for at in ends]


def digits(individual: bool) -> CharSplit:
    """Numeric scalars apart, or in runs."""
    return CharSplit(scalar_set("rust_numeric"), "Isolated" if individual else "Contiguous")


@dataclass(frozen=True)
class Scripts:
    """Runs of one script, by the source's own grouping; what has no script joins the run before.

    What has no script at the beginning of a piece is lost, as in the source. `runs` are the scalars
    below an end, and their script.
    """

    runs: Runs = field(default_factory=partial(table, "scripts"))

    def split(self, piece: Aligned) -> list[Aligned]:
        """A cut where a scalar has another script than the last one that has any."""
        starts: list[int] = []
        now = 0
        for index, char in enumerate(piece.text):
            group = script_group(char, self.runs)
            if group and group != now:
                starts.append(index)
            now = group or now
        ends = [*starts[1:], len(piece.text)] if starts else []
        return _pieces(piece, list(zip(starts, ends, strict=True)))


def script_group(char: str, runs: Runs) -> int:
    """The number of a scalar's script; 0 joins any."""
    at = bisect_right(runs, ord(char), key=lambda run: run[0])
    return runs[at][1]
