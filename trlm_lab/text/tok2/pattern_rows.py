"""Patterns as nodes in preorder: four numbers each, the last one its size with all below it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from trlm_lab.text.pattern_nodes import (
    DEEPEST,
    MOST_REPEATS,
    Atomic,
    Choice,
    Concat,
    End,
    Literal,
    Look,
    Node,
    OneOf,
    Repeat,
    children,
    fault_of,
)
from trlm_lab.text.scalar_sets import ScalarSet
from trlm_lab.text.tok2.numbers import (
    ATOMIC,
    CHOICE,
    CONCAT,
    EMPTY,
    END,
    LITERAL,
    LOOK,
    NONE,
    ONE_OF,
    REPEAT,
)

#: Op and flags, a, b, size.
Row = tuple[int, int, int, int, int]
_FLAGS = {REPEAT: 2, LOOK: 3}
_FEWEST = {CONCAT: 2, CHOICE: 2, REPEAT: 1, LOOK: 1, ATOMIC: 1}


class NodeError(ValueError):
    """What is wrong with which node, and at which byte of it."""

    def __init__(self, node: int, at: int, field: str, got: object, expected: object) -> None:
        super().__init__(field)
        self.node, self.at, self.field = node, at, field
        self.got, self.expected = got, expected


def rows_of(
    root: Node, string: Callable[[str], int], scalars: Callable[[ScalarSet], int]
) -> list[Row]:
    """The nodes of a pattern; `string` and `scalars` give references."""
    out: list[Row] = []
    _write(root, out, string, scalars)
    return out


def _write(
    node: Node, out: list[Row], string: Callable[[str], int], scalars: Callable[[ScalarSet], int]
) -> None:
    at = len(out)
    op, flags, a, b = _own(node, string, scalars)
    out.append((op, flags, a, b, 0))
    for child in children(node):
        _write(child, out, string, scalars)
    out[at] = (op, flags, a, b, len(out) - at)


def _own(
    node: Node, string: Callable[[str], int], scalars: Callable[[ScalarSet], int]
) -> tuple[int, int, int, int]:
    match node:
        case Literal(text):
            return LITERAL, 0, string(text), 0
        case OneOf(found):
            return ONE_OF, 0, scalars(found), 0
        case Concat(parts):
            return CONCAT if parts else EMPTY, 0, 0, 0
        case Choice():
            return CHOICE, 0, 0, 0
        case Repeat(_, least, most, manner):
            return REPEAT, manner, least, NONE if most is None else most
        case Look(_, behind, negative):
            return LOOK, behind | negative << 1, 0, 0
        case Atomic():
            return ATOMIC, 0, 0, 0
        case End():
            return END, 0, 0, 0


class Tree:
    """Reads the nodes of one pattern, `start` being the place of its root in the array."""

    def __init__(
        self,
        rows: Sequence[Row],
        strings: Sequence[str],
        sets: Sequence[ScalarSet],
        start: int,
        last_op: int,
    ) -> None:
        self._rows, self._strings, self._sets, self._last_op = rows, strings, sets, last_op
        self._places: dict[int, int] = {}
        self._start = start

    def root(self) -> Node:
        """The pattern.

        Raises:
            NodeError: a node that breaks a rule.
        """
        node, _ = self._read(self._start, len(self._rows), 1)
        if fault := fault_of(node):
            at = self._places[id(fault[0])]
            raise NodeError(at, 0, "a node", fault[1], "a pattern that every engine can run")
        return node

    @property
    def end(self) -> int:
        """Where the next pattern begins."""
        return self._start + self._rows[self._start][4]

    def _read(self, at: int, limit: int, depth: int) -> tuple[Node, int]:
        op, flags, *_, size = self._rows[at]
        if op not in range(EMPTY, self._last_op + 1):
            raise NodeError(at, 0, "an op", op, f"1 to {self._last_op}")
        if flags > _FLAGS.get(op, 0):
            raise NodeError(at, 2, "flags", flags, f"at most {_FLAGS.get(op, 0)}")
        if depth > DEEPEST:
            raise NodeError(at, 0, "the depth of a node", depth, f"at most {DEEPEST}")
        if not 1 <= size <= limit - at:
            raise NodeError(at, 12, "the size of a node", size, f"1 to {limit - at}")
        below = list(self._below(at, size, depth))
        self._require_count(at, op, len(below))
        node = self._node(at, below)
        self._places[id(node)] = at
        return node, at + size

    def _below(self, at: int, size: int, depth: int) -> Iterator[tuple[int, Node]]:
        child = at + 1
        while child < at + size:
            place = child
            node, child = self._read(child, at + size, depth + 1)
            yield place, node

    def _require_count(self, at: int, op: int, count: int) -> None:
        fewest = _FEWEST.get(op, 0)
        if count < fewest or (count != fewest and op not in (CONCAT, CHOICE)):
            raise NodeError(at, 12, "the number of children", count, fewest)

    def _node(self, at: int, below: list[tuple[int, Node]]) -> Node:
        op, flags, a, b, _ = self._rows[at]
        nodes = tuple(node for _, node in below)
        if op == LITERAL:
            return Literal(self._literal(at, a, b))
        if op == ONE_OF:
            return OneOf(self._scalars(at, a, b))
        if op == REPEAT:
            return self._repeat(at, nodes[0])
        for offset, value in ((4, a), (8, b)):
            if value:
                raise NodeError(at, offset, "an unused number", value, 0)
        if op in (EMPTY, CONCAT):
            self._require_flat(below, Concat)
            return Concat(nodes)
        if op == CHOICE:
            self._require_flat(below, Choice)
            return Choice(nodes)
        if op == LOOK:
            return Look(nodes[0], bool(flags & 1), bool(flags & 2))
        return End() if op == END else Atomic(nodes[0])

    def _literal(self, at: int, a: int, b: int) -> str:
        if a >= len(self._strings) or not self._strings[a]:
            raise NodeError(at, 4, "a literal", a, "a string that is not empty")
        if b:
            raise NodeError(at, 8, "an unused number", b, 0)
        return self._strings[a]

    def _scalars(self, at: int, a: int, b: int) -> ScalarSet:
        if a >= len(self._sets):
            raise NodeError(at, 4, "a set", a, f"below {len(self._sets)}")
        if b:
            raise NodeError(at, 8, "an unused number", b, 0)
        ranges = self._sets[a].ranges
        if len(ranges) == 1 and ranges[0][0] == ranges[0][1]:
            raise NodeError(at, 0, "a set of one scalar", a, "a literal")
        return self._sets[a]

    def _repeat(self, at: int, body: Node) -> Node:
        _, flags, least, most, _ = self._rows[at]
        if least > MOST_REPEATS:
            raise NodeError(at, 4, "the least count", least, f"at most {MOST_REPEATS}")
        if most != NONE and not least <= most <= MOST_REPEATS:
            raise NodeError(at, 8, "the most", most, f"{least} to {MOST_REPEATS}, or none")
        return Repeat(body, least, None if most == NONE else most, flags)

    def _require_flat(
        self, below: list[tuple[int, Node]], same: type[Concat] | type[Choice]
    ) -> None:
        before: Node | None = None
        for place, node in below:
            if isinstance(node, same):
                raise NodeError(place, 0, "a row inside a row", "nested", "one row")
            if same is Concat and isinstance(node, Literal) and isinstance(before, Literal):
                raise NodeError(place, 0, "a literal behind a literal", "two", "one")
            before = node
