"""llama.cpp's cutting of texts in terms of scalars: patterns as trees, classes as sets.

A pattern of llama.cpp runs on a text in which one character stands for each class of scalars. The
same pattern over sets of the scalars themselves finds the same places; so it needs no table when it
runs, and any engine of trees can run it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from itertools import pairwise
from typing import Any

from trlm_lab.errors import PatternUnsupportedError
from trlm_lab.text.aligned import Aligned
from trlm_lab.text.coordinates import Span
from trlm_lab.text.ggml import tables
from trlm_lab.text.ggml.models import PHANTOM
from trlm_lab.text.ggml.pre_names import DIGIT_GROUPS
from trlm_lab.text.ggml.splitting import STANDS_FOR, VERTICAL_TAB, GgmlSplit, stands_for
from trlm_lab.text.ggml.words import IDEOGRAPHS, GgmlWords
from trlm_lab.text.pattern import Pattern, read_tree
from trlm_lab.text.pattern_class import Cursor, Dialect
from trlm_lab.text.pattern_nodes import (
    Atomic,
    Choice,
    Concat,
    Literal,
    Look,
    Node,
    OneOf,
    Repeat,
    choice,
    concat,
    fault_of,
    one_of,
)
from trlm_lab.text.scalar_sets import LAST, ScalarSet

_ASCII = ScalarSet(((0, 0x7F),))
_SHORT = {
    "s": ScalarSet.chars(" \t\n\r\f\v"),
    "d": ScalarSet.of([(0x30, 0x39)]),
    "w": ScalarSet.of([(0x30, 0x39), (0x41, 0x5A), (0x5F, 0x5F), (0x61, 0x7A)]),
}
_MEMBERS = {
    "N": ("0123456789", tables.NUMBER),
    "L": ("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz", tables.LETTER),
    "P": ("!\"#%&'()*,-./:;?@[\\]_{}", tables.PUNCTUATION),
    "M": ("", tables.MARK),
    "S": ("$+<=>^`|~", tables.SYMBOL),
}
#: A step that cuts numbers into threes from the right.
Step = Pattern | ScalarSet


class _Classes(Dialect):
    """Classes over the characters that stand for scalars."""

    has_end = True

    def short(self, letter: str, *, in_class: bool) -> ScalarSet:
        """In ASCII alone, wherever it stands."""
        return _SHORT[letter]

    def prop(self, name: str) -> ScalarSet:
        """One of five groups of categories; a second letter changes nothing."""
        members, flag = _MEMBERS.get(name[:1], ("", 0))
        return ScalarSet.chars(members + chr(STANDS_FOR[flag])) if flag else ScalarSet(())


@dataclass(frozen=True)
class Cuts:
    """A pre-tokenizer of steps: each cuts what the one before left, matches apart.

    A set as a step is that of numbers: runs of them are cut into threes from the right, and what
    stands before one stays with its first group.
    """

    steps: tuple[Step, ...]

    def split(self, piece: Aligned) -> list[Aligned]:
        """The pieces, none of them empty."""
        spans = [(0, len(piece.text))] if piece.text else []
        for step in self.steps:
            spans = [part for span in spans for part in _cut(step, piece.text, span)]
        return [piece.part(start, end) for start, end in spans]


def _cut(step: Step, text: str, span: Span) -> Iterator[Span]:
    inside = text[span[0] : span[1]]
    if isinstance(step, Pattern):
        places = [place for match in step.spans(inside) for place in match]
    else:
        places = list(_groups(step, inside))
    for start, end in pairwise([0, *places, len(inside)]):
        if start < end:
            yield span[0] + start, span[0] + end


def _groups(numbers: ScalarSet, text: str) -> Iterator[int]:
    """Ends of groups of three."""
    at = 0
    while at < len(text):
        end = at
        while end < len(text) and text[end] in numbers:
            end += 1
        if end > at:
            yield from range(at + ((end - at) % 3 or 3), end + 1, 3)
        at = max(end, at + 1)


def cuts_of(stage: GgmlSplit) -> Cuts:
    """The same cutting without tables.

    Raises:
        PatternUnsupportedError: a pattern that trees cannot have, such as one that matches nothing.
    """
    return Cuts(tuple(_step(source) for source in stage.patterns))


@cache
def _step(source: str) -> Step:
    if source == DIGIT_GROUPS:
        return _number_set()
    cursor = Cursor(source, "tokenizer.ggml.pre", _Classes())
    root = _over_scalars(read_tree(cursor), _by_class if r"\p{" in source else _by_space)
    if fault := fault_of(root):
        raise PatternUnsupportedError(
            where=cursor.where, pattern=repr(source), construct=fault[1], index=cursor.at
        )
    return Pattern(root)


def _number_set() -> ScalarSet:
    return _by_class(ScalarSet.chars("0123456789" + chr(STANDS_FOR[tables.NUMBER])))


def _over_scalars(node: Node, preimage: Callable[[ScalarSet], ScalarSet]) -> Node:
    def below(inner: Node) -> Node:
        return _over_scalars(inner, preimage)

    match node:
        case Literal(text):
            return concat(one_of(preimage(ScalarSet.chars(char))) for char in text)
        case OneOf(found):
            return one_of(preimage(found))
        case Concat(parts):
            return concat(map(below, parts))
        case Choice(branches):
            return choice(map(below, branches))
        case Repeat() | Look() | Atomic():
            return replace(node, body=below(node.body))
    return node


def _by_class(found: ScalarSet) -> ScalarSet:
    """The scalars that a character of the set stands for."""
    classes = [sets for code, sets in _class_sets().items() if chr(code) in found]
    return ScalarSet.of(span for one in [found & _ASCII, *classes] for span in one.ranges)


def _by_space(found: ScalarSet) -> ScalarSet:
    """The same where only white space beyond ASCII has another character."""
    space = _class_sets()[VERTICAL_TAB]
    plain = found & space.inverse()
    return plain | space if "\v" in found else plain


@cache
def _class_sets() -> dict[int, ScalarSet]:
    """The scalars beyond ASCII that each character stands for."""
    rows: dict[int, list[Span]] = {}
    for low, high, flags in flag_runs():
        if high > 0x7F:
            rows.setdefault(stands_for(flags), []).append((max(low, 0x80), high))
    return {code: ScalarSet.of(spans) for code, spans in rows.items()}


def flag_runs() -> Iterator[tuple[int, int, int]]:
    """Scalars from and to, and the flags that they share; white space stands alone."""
    starts = {start for start, _ in tables.tables()["flags"]} | {0}
    space = set(tables.tables()["space"])
    borders = sorted(starts | space | {code + 1 for code in space} | {LAST + 1})
    for low, end in pairwise(borders):
        if low <= LAST:
            yield low, end - 1, tables.flags()[low]


@dataclass(frozen=True)
class WordCuts:
    """Words with the phantom space before each, by sets of what scalars do.

    A scalar is replaced by `plain`, then judged, then written by `lower`; what stands `apart` is a
    word of its own, `space` and `lost` scalars are left out.
    """

    plain: dict[int, str]
    space: ScalarSet
    lost: ScalarSet
    apart: ScalarSet
    lower: dict[int, str]

    def split(self, piece: Aligned) -> list[Aligned]:
        """The words of one piece."""
        seen = piece.text.translate(self.plain)
        clean = Aligned(seen.translate(self.lower), piece.source, piece.normal, piece.base)
        words: list[list[int]] = [[]]
        for place, char in enumerate(seen):
            if char in self.space:
                words.append([])
            elif char in self.lost:
                continue
            elif char in self.apart:
                words += [[place], []]
            else:
                words[-1].append(place)
        return [clean.kept(word).prefixed(PHANTOM) for word in words if word]


def portable(stage: Any) -> Any:
    """A stage without tables of its own, where the reference has one with tables.

    Raises:
        PatternUnsupportedError: as `cuts_of`.
    """
    if isinstance(stage, GgmlSplit):
        return cuts_of(stage)
    return words_of(stage) if isinstance(stage, GgmlWords) else stage


def words_of(stage: GgmlWords) -> WordCuts:
    """The same cutting without tables."""
    mark = tables.MARK if stage.strip_accents else 0
    kinds: dict[str, list[Span]] = {"space": [], "lost": [], "apart": []}
    for low, high, flags in flag_runs():
        if flags & tables.SPACE:
            kinds["space"].append((low, high))
        elif flags & (tables.CONTROL | mark):
            kinds["lost"].append((low, high))
        elif flags & tables.PUNCTUATION:
            kinds["apart"].append((low, high))
        elif flags & tables.SYMBOL and low < 0x7F:
            kinds["apart"].append((low, min(high, 0x7E)))
    sets = {name: ScalarSet.of(rows) for name, rows in kinds.items()}
    lost = sets["lost"] | (ScalarSet.chars("\0\ufffd") & sets["space"].inverse())
    ideographs = ScalarSet.of(IDEOGRAPHS)
    gone = sets["space"] | lost
    return WordCuts(
        _texts(tables.plain()) if stage.strip_accents else {},
        sets["space"],
        lost,
        (sets["apart"] | ideographs) & gone.inverse(),
        _texts(tables.lower()) if stage.lowercase else {},
    )


def _texts(codes: dict[int, int]) -> dict[int, str]:
    return {code: chr(other) for code, other in codes.items()}
