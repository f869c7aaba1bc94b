"""Character classes of the source engine's regular expressions, as sets of scalars."""

from __future__ import annotations

import re

from trlm_lab.errors import PatternUnsupportedError
from trlm_lab.text.scalar_sets import ScalarSet
from trlm_lab.text.tables import category, known, scalar_set, table

_CONTROLS = {"n": "\n", "r": "\r", "t": "\t", "f": "\f", "v": "\v", "a": "\a", "e": "\x1b"}
_SHORT = {"s": "onig_space", "w": "onig_word", "d": "onig_digit"}
#: Within square brackets the engine has another set of word characters: without U+00B2 and others.
_SHORT_IN_CLASS = _SHORT | {"w": "onig_word_in_class"}
_HEX = re.compile(r"x\{([0-9A-Fa-f]{1,6})\}|x([0-9A-Fa-f]{2})|u([0-9A-Fa-f]{4})")
_PROPERTY = re.compile(r"[pP]\{(\^?)([A-Za-z_ ]+)\}")
_DEEPEST = 32
_LONG = {"Letter": "L", "Number": "N", "Punctuation": "P", "Symbol": "S", "Mark": "M"}


class Dialect:
    """What escapes of classes mean to an engine; this one is the source engine's."""

    #: Whether `\Z` is the end of the text.
    has_end = False

    def short(self, letter: str, *, in_class: bool) -> ScalarSet:
        """White space, word characters or digits (s, w, d), alone or in square brackets."""
        return scalar_set((_SHORT_IN_CLASS if in_class else _SHORT)[letter])

    def prop(self, name: str) -> ScalarSet:
        """A property by name; empty if there is none of this name."""
        found = category(_LONG.get(name, name))
        if not found.ranges and known(f"onig_{name}"):
            found = scalar_set(f"onig_{name}")
        if not found.ranges and name == "Alphabetic":
            found = scalar_set("onig_alphabetic")
        return found


_SOURCE = Dialect()


class Cursor:
    """A place in a pattern, and the refusals that name it."""

    def __init__(self, source: str, where: str, dialect: Dialect = _SOURCE) -> None:
        self.source, self.where, self.at, self.dialect = source, where, 0, dialect

    @property
    def at_end(self) -> bool:
        """Whether nothing is left."""
        return self.at >= len(self.source)

    @property
    def peek(self) -> str:
        """The next character."""
        if self.at_end:
            raise self.refusal("an unexpected end")
        return self.source[self.at]

    def ahead(self, count: int) -> str:
        """The next few characters."""
        return self.source[self.at : self.at + count]

    def next(self) -> str:
        """Take one character."""
        char = self.peek
        self.at += 1
        return char

    def take(self, text: str) -> bool:
        """Take this text if it comes next."""
        if not self.source.startswith(text, self.at):
            return False
        self.at += len(text)
        return True

    def match(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        """Take what a pattern finds here."""
        found = pattern.match(self.source, self.at)
        if found:
            self.at = found.end()
        return found

    def refusal(self, construct: str) -> PatternUnsupportedError:
        """The refusal of what stands here."""
        return PatternUnsupportedError(
            where=self.where, pattern=repr(self.source), construct=construct, index=self.at
        )


def escaped_set(cursor: Cursor, *, in_class: bool = False) -> ScalarSet:
    """One literal or one escape, alone or in square brackets."""
    char = cursor.next()
    if char != "\\":
        return ScalarSet.chars(char)
    if code := cursor.match(_HEX):
        value = int(next(part for part in code.groups() if part), 16)
        if value > 0x10FFFF or (code[2] and value > 0x7F):
            # \xHH above 7F is a byte there, not a scalar.
            raise cursor.refusal(f"the escape \\{code[0]}")
        return ScalarSet.of([(value, value)])
    if named := cursor.match(_PROPERTY):
        return _property(
            cursor, named[2], negated=(cursor.source[named.start()] == "P") ^ bool(named[1])
        )
    char = cursor.next()
    if char.lower() in _SHORT:
        found = cursor.dialect.short(char.lower(), in_class=in_class)
        return found.inverse() if char.isupper() else found
    if char in _CONTROLS:
        return ScalarSet.chars(_CONTROLS[char])
    if char.isascii() and char.isalnum():
        raise cursor.refusal(f"the escape \\{char}")
    return ScalarSet.chars(char)


def _property(cursor: Cursor, name: str, *, negated: bool) -> ScalarSet:
    found = cursor.dialect.prop(name)
    if not found.ranges:
        raise cursor.refusal(f"the property {name}")
    return found.inverse() if negated else found


def folded(found: ScalarSet, cursor: Cursor) -> ScalarSet:
    """The set without regard to case; only sets of ASCII are folded."""
    if any(high > 0x7F for _, high in found.ranges):
        raise cursor.refusal("a caseless set beyond ASCII")
    folds = table("onig_folds")
    codes = [c for low, high in found.ranges for c in range(low, high + 1)]
    extra = [other for c in codes for other in folds.get(chr(c).lower(), ())]
    return ScalarSet.of((c, c) for c in [*codes, *extra])


class ClassReader:
    """What stands in square brackets: ranges, escapes, classes inside, intersections."""

    def __init__(self, cursor: Cursor, depth: int = 1) -> None:
        self._cursor, self._depth = cursor, depth
        if depth > _DEEPEST:
            raise cursor.refusal(f"more than {_DEEPEST} brackets inside each other")

    def read(self) -> ScalarSet:
        """The set of one pair of brackets."""
        cursor = self._cursor
        cursor.take("[")
        if cursor.peek == ":":
            raise cursor.refusal("a POSIX bracket")
        negated = cursor.take("^")
        if cursor.peek == "]":
            raise cursor.refusal("an empty class")
        found = self._union()
        while cursor.take("&&"):
            found = found & self._union()
        cursor.take("]")
        return found.inverse() if negated else found

    def _union(self) -> ScalarSet:
        cursor = self._cursor
        found = ScalarSet(())
        while cursor.peek != "]" and cursor.ahead(2) != "&&":
            inside = ClassReader(cursor, self._depth + 1).read if cursor.peek == "[" else self._item
            found = found | inside()
        return found

    def _item(self) -> ScalarSet:
        cursor = self._cursor
        first = escaped_set(cursor, in_class=True)
        after = cursor.ahead(2)
        if after[:1] != "-" or after[1:] in ("]", "["):
            return first
        cursor.take("-")
        last = escaped_set(cursor, in_class=True)
        if not _single(first) or not _single(last) or last.ranges[0] < first.ranges[0]:
            raise cursor.refusal("a range without two ends")
        return ScalarSet.of([(first.ranges[0][0], last.ranges[0][0])])


def _single(found: ScalarSet) -> bool:
    return len(found.ranges) == 1 and found.ranges[0][0] == found.ranges[0][1]
