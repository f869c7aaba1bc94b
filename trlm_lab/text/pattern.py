"""Regular expressions of the source engine with the source's own classes.

The pattern is parsed strictly into a tree, every class becomes ranges of scalars, and a construct
whose meaning could differ is refused by name. Source of facts: the syntax of Oniguruma (Ruby).
"""

from __future__ import annotations

import re
from functools import cached_property, lru_cache

from trlm_lab.errors import PatternUnsupportedError
from trlm_lab.text.coordinates import Span
from trlm_lab.text.pattern_class import ClassReader, Cursor, escaped_set, folded
from trlm_lab.text.pattern_matching import Matching
from trlm_lab.text.pattern_nodes import (
    DEEPEST,
    Atomic,
    End,
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
from trlm_lab.text.pattern_program import Program
from trlm_lab.text.scalar_sets import ScalarSet

_GROUPS = ("?:", "?=", "?!", "?<=", "?<!", "?>")
_BOUNDS = re.compile(r"\{(\d{0,9})(?:,(\d{0,9}))?\}")
_COUNTS: dict[str, tuple[int, int | None]] = {"*": (0, None), "+": (1, None), "?": (0, 1)}
_MANNERS = {"?": 1, "+": 2}


class Pattern:
    """A compiled pattern; `spans` are its matches from left to right, none of them empty."""

    def __init__(self, root: Node) -> None:
        self.root = root

    def spans(self, text: str) -> list[Span]:
        """Matches in scalars.

        Raises:
            PatternStepsError: more steps than a text of this length may take.
        """
        if isinstance(self._compiled, Program):
            return Matching(self._compiled, text).spans()
        return [match.span() for match in self._compiled.finditer(text)]

    @cached_property
    def _compiled(self) -> Program | re.Pattern[str]:
        """A text or a set has nothing to try, and needs no steps."""
        match self.root:
            case Literal(text):
                return re.compile(re.escape(text))
            case OneOf(found):
                return re.compile(found.expression())
        return Program.of(self.root)


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
    return Pattern(Literal(text))


@lru_cache(maxsize=256)
def expression(source: str, *, where: str = "") -> Pattern:
    """A regular expression.

    Raises:
        PatternUnsupportedError: a construct outside the subset, or one that can match nothing.
    """
    cursor = Cursor(source, where)
    root = read_tree(cursor)
    if fault := fault_of(root):
        raise cursor.refusal(fault[1])
    return Pattern(root)


def read_tree(cursor: Cursor) -> Node:
    """The tree of a whole pattern.

    Raises:
        PatternUnsupportedError: a construct outside the subset.
    """
    root = _Reader(cursor).alternatives(fold=False)
    if not cursor.at_end:
        raise cursor.refusal("an unopened )")
    return root


def of_runs(*sets: ScalarSet) -> Pattern:
    """Runs of scalars of each of some sets."""
    return Pattern(choice(Repeat(one_of(found), 1, None) for found in sets))


class _Reader:
    def __init__(self, cursor: Cursor) -> None:
        self.cursor = cursor
        self._depth = 0

    def alternatives(self, *, fold: bool) -> Node:
        """Branches up to the end or a closing parenthesis."""
        self._depth += 1
        if self._depth > DEEPEST:
            raise self.cursor.refusal(f"more than {DEEPEST} levels")
        branches = [self._branch(fold)]
        while self.cursor.take("|"):
            branches.append(self._branch(fold))
        self._depth -= 1
        return choice(branches)

    def _branch(self, fold: bool) -> Node:
        out: list[Node] = []
        letters = ""
        while not self.cursor.at_end and self.cursor.peek not in "|)":
            if self.cursor.take("(?i)"):
                # Holds to the end of the enclosing group, over the bars that follow.
                return concat([*out, self.alternatives(fold=True)])
            letters = letters[-2:] + self.cursor.peek.lower() if fold else ""
            if letters.endswith(("ss", "ff", "fi", "fl", "st")):
                raise self.cursor.refusal(f"the caseless letters {letters[-2:]!r}")
            out.append(self._repeated(self._atom(fold)))
        return concat(out)

    def _atom(self, fold: bool) -> Node:
        cursor = self.cursor
        if cursor.peek == "(":
            return self._group(fold)
        if cursor.dialect.has_end and cursor.take(r"\Z"):
            return End()
        if cursor.peek == "[":
            found = ClassReader(cursor).read()
        elif cursor.take("."):
            return one_of(ScalarSet.chars("\n").inverse())
        elif cursor.peek in "*+?{":
            raise cursor.refusal("a repetition of nothing")
        elif cursor.peek in "^$":
            raise cursor.refusal(f"the anchor {cursor.peek}")
        else:
            found = escaped_set(cursor)
        return one_of(folded(found, cursor) if fold else found)

    def _group(self, fold: bool) -> Node:
        cursor = self.cursor
        cursor.take("(")
        mark = next((mark for mark in _GROUPS if cursor.take(mark)), "")
        if not mark and cursor.take("?i:"):
            fold = True
        elif not mark and cursor.peek == "?":
            raise cursor.refusal(f"the group ({cursor.ahead(3)}")
        inside = self.alternatives(fold=fold)
        if not cursor.take(")"):
            raise cursor.refusal("an unclosed (")
        if mark == "?>":
            return Atomic(inside)
        if mark in ("", "?:"):
            # Captures are not asked for: only whole matches count.
            return inside
        return Look(inside, behind="<" in mark, negative="!" in mark)

    def _repeated(self, body: Node) -> Node:
        cursor = self.cursor
        if bounds := cursor.match(_BOUNDS):
            least, most = self._bounds(bounds)
            if not cursor.at_end and cursor.peek in "?+*{":
                raise cursor.refusal(f"{bounds[0]} followed by {cursor.peek}")
            return Repeat(body, least, most)
        if cursor.at_end or cursor.peek not in _COUNTS:
            return body
        least, most = _COUNTS[cursor.next()]
        manner = 0
        if not cursor.at_end and cursor.peek in _MANNERS:
            manner = _MANNERS[cursor.next()]
        if not cursor.at_end and cursor.peek in "*+?{":
            raise cursor.refusal("a repetition of a repetition")
        return Repeat(body, least, most, manner)

    def _bounds(self, bounds: re.Match[str]) -> tuple[int, int | None]:
        low, high = bounds[1], bounds[2]
        if not low and not high:
            raise self.cursor.refusal(f"the repetition {bounds[0]}")
        least = int(low or 0)
        return (least, least) if high is None else (least, int(high) if high else None)
