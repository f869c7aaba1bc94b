"""The tree of a regular expression in one spelling, and what can be said about it beforehand.

A tree has no concatenation inside a concatenation and no alternation inside an alternation, equal
letters in a row are one literal: two patterns of one meaning written in two ways are often one.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import chain

from trlm_lab.text.scalar_sets import ScalarSet

#: Bounds that every engine of this project keeps: levels, count of a repetition, look behind.
DEEPEST, MOST_REPEATS, LONGEST_LOOK = 32, 65_535, 255
#: Of a pattern with its counted repetitions written out, as the runtime runs it.
MOST_STEPS = 65_536
#: How a repetition gives back what it took, in the order of their numbers in TOK2.
GREEDY, LAZY, POSSESSIVE = range(3)


@dataclass(frozen=True)
class Literal:
    """A text; the empty one matches nothing and is `Concat(())`."""

    text: str


@dataclass(frozen=True)
class OneOf:
    """One scalar of a set."""

    found: ScalarSet


@dataclass(frozen=True)
class Concat:
    """One after the other; without parts it matches the empty text."""

    parts: tuple[Node, ...]


@dataclass(frozen=True)
class Choice:
    """The first branch that leads to a match."""

    branches: tuple[Node, ...]


@dataclass(frozen=True)
class Repeat:
    """`least` to `most` times, any number where `most` is None."""

    body: Node
    least: int
    most: int | None
    manner: int = GREEDY


@dataclass(frozen=True)
class Look:
    """What stands ahead or behind, or does not; nothing is taken."""

    body: Node
    behind: bool
    negative: bool


@dataclass(frozen=True)
class Atomic:
    """A group that is not entered again."""

    body: Node


@dataclass(frozen=True)
class End:
    """The end of the text."""


Node = Literal | OneOf | Concat | Choice | Repeat | Look | Atomic | End


def one_of(found: ScalarSet) -> Node:
    """A scalar of a set; a set of one is a literal."""
    if len(found.ranges) == 1 and found.ranges[0][0] == found.ranges[0][1]:
        return Literal(chr(found.ranges[0][0]))
    return OneOf(found)


def concat(parts: Iterable[Node]) -> Node:
    """Parts in a row, neighbouring letters joined."""
    out: list[Node] = []
    for part in chain.from_iterable(p.parts if isinstance(p, Concat) else (p,) for p in parts):
        if isinstance(part, Literal) and out and isinstance(out[-1], Literal):
            out[-1] = Literal(out[-1].text + part.text)
        else:
            out.append(part)
    return out[0] if len(out) == 1 else Concat(tuple(out))


def choice(branches: Iterable[Node]) -> Node:
    """Branches in order."""
    rows = [b.branches if isinstance(b, Choice) else (b,) for b in branches]
    out = tuple(chain.from_iterable(rows))
    return out[0] if len(out) == 1 else Choice(out)


def children(node: Node) -> tuple[Node, ...]:
    """What is directly below a node."""
    match node:
        case Concat(parts):
            return parts
        case Choice(branches):
            return branches
        case Repeat() | Look() | Atomic():
            return (node.body,)
    return ()


def lengths(node: Node) -> tuple[int, int | None]:
    """The shortest and the longest match in scalars; None is no bound."""
    match node:
        case Literal(text):
            return len(text), len(text)
        case OneOf():
            return 1, 1
        case Look() | End():
            return 0, 0
        case Atomic(body):
            return lengths(body)
        case Repeat(body, least, most):
            low, high = lengths(body)
            if most is None or high is None:
                return low * least, 0 if high == 0 or most == 0 else None
            return low * least, high * most
    below = [lengths(one) for one in children(node)]
    highs = [high for _, high in below]
    known = [high for high in highs if high is not None]
    if isinstance(node, Choice):
        return min(low for low, _ in below), max(known) if len(known) == len(highs) else None
    return sum(low for low, _ in below), sum(known) if len(known) == len(highs) else None


def steps(node: Node) -> int:
    """Steps of a node with its counted repetitions written out (docs/formats/tok2.md)."""
    match node:
        case Literal() | OneOf() | End():
            return 1
        case Look(body) | Atomic(body):
            return steps(body) + 2
        case Repeat(OneOf(), _, _, _):
            return 1
        case Repeat(Literal(text), _, _, _) if len(text) == 1:
            return 1
        case Repeat(body, least, most, manner):
            once = steps(body)
            more = once + 2 if most is None else (most - least) * (once + 1)
            return least * once + more + 2 * (manner == POSSESSIVE)
        case Choice(branches):
            return sum(map(steps, branches)) + 2 * (len(branches) - 1)
    return sum(map(steps, children(node)))


def fault_of(root: Node) -> tuple[Node, str] | None:
    """The first node, in preorder, that no engine here has to run, and what is wrong with it."""
    if lengths(root)[0] == 0:
        return root, "an empty match"
    if found := _fault(root, 1, behind=False):
        return found
    if steps(root) + 1 > MOST_STEPS:
        return root, f"more than {MOST_STEPS} steps"
    return None


def _fault(node: Node, depth: int, *, behind: bool) -> tuple[Node, str] | None:
    found = _own_fault(node, depth, behind)
    if found:
        return node, found
    inside = behind or (isinstance(node, Look) and node.behind)
    below = (_fault(child, depth + 1, behind=inside) for child in children(node))
    return next((one for one in below if one), None)


def _own_fault(node: Node, depth: int, behind: bool) -> str:
    if depth > DEEPEST:
        return f"more than {DEEPEST} levels"
    if isinstance(node, Look):
        if behind:
            return "a look inside a look behind"
        low, high = lengths(node.body)
        if node.behind and (low != high or low > LONGEST_LOOK):
            return "a look behind without one length"
    if isinstance(node, Repeat):
        if max(node.least, node.most or 0) > MOST_REPEATS:
            return f"a repetition of more than {MOST_REPEATS}"
        if node.most is not None and node.most < node.least:
            return "a repetition whose bounds are the wrong way round"
        if (node.most is None or node.most > 1) and lengths(node.body)[0] == 0:
            return "a repetition of what can be empty"
    return ""
