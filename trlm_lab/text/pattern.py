"""Regular expressions of the source engine, run by Python's `re` with the source's own classes.

The pattern is parsed strictly, every class is written out as ranges of scalars, and a construct
whose meaning could differ is refused by name. Source of facts: the syntax of Oniguruma (Ruby).
"""

from __future__ import annotations

import re
from functools import lru_cache

from trlm_lab.errors import PatternUnsupportedError
from trlm_lab.text.coordinates import Span
from trlm_lab.text.pattern_class import ClassReader, Cursor, escaped_set, folded
from trlm_lab.text.scalar_sets import ScalarSet

_GROUPS = ("?:", "?=", "?!", "?<=", "?<!", "?>")
_ONE_OR_MORE = re.compile(r"\{(\d*)(?:,(\d*))?\}")


class Pattern:
    """A compiled pattern; `spans` are its matches from left to right, none of them empty."""

    def __init__(self, compiled: re.Pattern[str]) -> None:
        self._compiled = compiled

    def spans(self, text: str) -> list[Span]:
        """Matches in scalars."""
        return [match.span() for match in self._compiled.finditer(text)]


@lru_cache(maxsize=256)
def literal(text: str, *, where: str = "") -> Pattern:
    """The pattern that is exactly this text.

    Raises:
        PatternUnsupportedError: an empty text.
    """
    if not text:
        raise PatternUnsupportedError(
            where=where, pattern="''", construct="an empty match", index=0
        )
    return Pattern(re.compile(re.escape(text)))


@lru_cache(maxsize=256)
def expression(source: str, *, where: str = "") -> Pattern:
    """A regular expression.

    Raises:
        PatternUnsupportedError: a construct outside the subset, or one that can match nothing.
    """
    reader = _Reader(Cursor(source, where))
    text = reader.alternatives(fold=False)
    if not reader.cursor.at_end:
        raise reader.cursor.refusal("an unopened )")
    try:
        compiled = re.compile(text)
    except (re.error, OverflowError, RecursionError) as error:
        raise reader.cursor.refusal(f"a fault: {error}") from error
    if compiled.fullmatch(""):
        raise reader.cursor.refusal("an empty match")
    return Pattern(compiled)


def of_runs(*sets: ScalarSet) -> Pattern:
    """Runs of scalars of each of some sets."""
    return Pattern(re.compile("|".join(f"{one.expression()}+" for one in sets)))


class _Reader:
    def __init__(self, cursor: Cursor) -> None:
        self.cursor = cursor

    def alternatives(self, *, fold: bool) -> str:
        """Branches up to the end or a closing parenthesis."""
        parts = [self._branch(fold)]
        while self.cursor.take("|"):
            parts.append(self._branch(fold))
        return "|".join(parts)

    def _branch(self, fold: bool) -> str:
        out: list[str] = []
        letters = ""
        while not self.cursor.at_end and self.cursor.peek not in "|)":
            if self.cursor.take("(?i)"):
                # Holds to the end of the enclosing group, over the bars that follow.
                return "".join(out) + f"(?:{self.alternatives(fold=True)})"
            letters = letters[-2:] + self.cursor.peek.lower() if fold else ""
            if letters.endswith(("ss", "ff", "fi", "fl", "st")):
                raise self.cursor.refusal(f"the caseless letters {letters[-2:]!r}")
            out.append(self._atom(fold) + self._repetition())
        return "".join(out)

    def _atom(self, fold: bool) -> str:
        cursor = self.cursor
        if cursor.peek == "(":
            return self._group(fold)
        if cursor.peek == "[":
            found = ClassReader(cursor).read()
            return (folded(found, cursor) if fold else found).expression()
        if cursor.take("."):
            return r"[^\n]"
        if cursor.peek in "*+?{":
            raise cursor.refusal("a repetition of nothing")
        if cursor.peek in "^$":
            raise cursor.refusal(f"the anchor {cursor.peek}")
        found = escaped_set(cursor)
        return (folded(found, cursor) if fold else found).expression()

    def _group(self, fold: bool) -> str:
        cursor = self.cursor
        cursor.take("(")
        mark = next((mark for mark in _GROUPS if cursor.take(mark)), "")
        if not mark and cursor.take("?i:"):
            mark, fold = "?:", True
        if not mark and cursor.peek == "?":
            raise cursor.refusal(f"the group ({cursor.ahead(3)}")
        inside = self.alternatives(fold=fold)
        if not cursor.take(")"):
            raise cursor.refusal("an unclosed (")
        # Captures are not asked for: only whole matches count.
        return f"({mark or '?:'}{inside})"

    def _repetition(self) -> str:
        cursor = self.cursor
        count = ""
        if not cursor.at_end and cursor.peek in "*+?":
            count = cursor.next()
        elif bounds := cursor.match(_ONE_OR_MORE):
            count = self._bounds(bounds)
            if not cursor.at_end and cursor.peek in "?+*{":
                raise cursor.refusal(f"{bounds[0]} followed by {cursor.peek}")
            return count
        if count and not cursor.at_end and cursor.peek in "?+":
            count += cursor.next()
        if count and not cursor.at_end and cursor.peek in "*+?{":
            raise cursor.refusal("a repetition of a repetition")
        return count

    def _bounds(self, bounds: re.Match[str]) -> str:
        low, high = bounds[1], bounds[2]
        if not low and not high:
            raise self.cursor.refusal(f"the repetition {bounds[0]}")
        return f"{{{low or 0}}}" if high is None else f"{{{low or 0},{high}}}"
