"""The four pools that a writer fills: strings, sets, tables and patterns by order of first use."""

from __future__ import annotations

import struct
from collections.abc import Hashable, Iterable
from itertools import accumulate
from typing import Any, Generic, TypeVar

from trlm_lab.errors import Tok2CompileError
from trlm_lab.text.pattern import Pattern
from trlm_lab.text.pattern_nodes import Node
from trlm_lab.text.scalar_sets import ScalarSet
from trlm_lab.text.tok2.numbers import MAX_NODES, MAX_STRING_BYTES
from trlm_lab.text.tok2.pattern_rows import rows_of
from trlm_lab.text.tok2.tables import WRITERS

Key = TypeVar("Key", bound=Hashable)


class Pool(Generic[Key]):
    """Members in the order in which they were first named."""

    def __init__(self) -> None:
        self.members: dict[Key, int] = {}

    def add(self, member: Key) -> int:
        """The index of a member."""
        return self.members.setdefault(member, len(self.members))


def numbers(values: Iterable[int]) -> bytes:
    """Numbers of four bytes."""
    row = list(values)
    return struct.pack(f"<{len(row)}I", *row)


def utf8(text: str, what: str) -> bytes:
    """The bytes of a text.

    Raises:
        Tok2CompileError: a lone surrogate.
    """
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise Tok2CompileError(what=what, got=ascii(text), limit="Unicode scalars") from error


def require(count: int, limit: int, what: str) -> None:
    """Refuse what is more than the format holds.

    Raises:
        Tok2CompileError: it is.
    """
    if count > limit:
        raise Tok2CompileError(what=what, got=count, limit=f"at most {limit}")


class Pools:
    """All four."""

    def __init__(self) -> None:
        self._strings: Pool[bytes] = Pool()
        self._sets: Pool[tuple[tuple[int, int], ...]] = Pool()
        self._tables: Pool[tuple[int, bytes]] = Pool()
        self._patterns: Pool[Node] = Pool()

    def string(self, text: str) -> int:
        """A reference to a text."""
        data = utf8(text, "a text")
        require(len(data), MAX_STRING_BYTES, "the length of a text")
        return self._strings.add(data)

    def scalars(self, found: ScalarSet) -> int:
        """A reference to a set."""
        return self._sets.add(found.ranges)

    def table(self, kind: int, table: Any) -> int:
        """A reference to a table."""
        return self._tables.add((kind, WRITERS[kind](table)))

    def pattern(self, pattern: Pattern) -> int:
        """A reference to a pattern."""
        return self._patterns.add(pattern.root)

    def strings_bytes(self) -> bytes:
        """Section 1."""
        texts = list(self._strings.members)
        return numbers([len(texts), *accumulate(map(len, texts))]) + b"".join(texts)

    def sets_bytes(self) -> bytes:
        """Section 2."""
        rows = list(self._sets.members)
        ends = accumulate(map(len, rows))
        flat = (number for ranges in rows for span in ranges for number in span)
        return numbers([len(rows), *ends, *flat])

    def tables_bytes(self) -> bytes:
        """Section 3."""
        rows = list(self._tables.members)
        out = numbers([len(rows), 0, 0, 0])
        at = 16 + 16 * len(rows)
        for kind, data in rows:
            out += numbers([kind, at, len(data), 0])
            at += len(data)
        return out + b"".join(data for _, data in rows)

    def patterns_bytes(self) -> bytes:
        """Section 4; names strings and sets, so it comes last."""
        nodes: list[tuple[int, int, int, int, int]] = []
        starts = [0]
        for root in self._patterns.members:
            nodes += rows_of(root, self.string, self.scalars)
            starts.append(len(nodes))
        require(len(nodes), MAX_NODES, "the number of nodes of patterns")
        rows = b"".join(struct.pack("<HHIII", *node) for node in nodes)
        head = numbers([len(starts) - 1, len(nodes), 0, 0])
        return head + rows + numbers(starts)
