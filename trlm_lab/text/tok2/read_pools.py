"""The four pools of a TOK2 block under a strict reader."""

from __future__ import annotations

import struct
from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

from trlm_lab.text.pattern import Pattern
from trlm_lab.text.scalar_sets import LAST, ScalarSet
from trlm_lab.text.tok2.hashing import Numbers
from trlm_lab.text.tok2.numbers import CHARSMAP, MAX_NODES, MAX_STRING_BYTES
from trlm_lab.text.tok2.pattern_rows import NodeError, Row, Tree
from trlm_lab.text.tok2.section import Section
from trlm_lab.text.tok2.tables import READERS, TableError

_NODE = struct.Struct("<HHIII")


def _ends(section: Section) -> Numbers:
    """The ends of the members of a pool, behind their count."""
    section.need(4, 0, "the section")
    count = section.u32(0)
    section.need(4 + 4 * count, 0, "the count")
    ends = section.numbers(4, count)
    section.ascending(4, ends, "an end")
    return ends


def _unlike(section: Section, members: Sequence[Hashable], places: Sequence[int]) -> None:
    seen: set[Hashable] = set()
    for member, place in zip(members, places, strict=True):
        if member in seen:
            section.fail(place, "a member of the pool", "one that is there", "another one")
        seen.add(member)


def read_strings(section: Section) -> tuple[str, ...]:
    """Section 1."""
    ends = _ends(section)
    first = 4 + 4 * len(ends)
    section.exactly(first + (int(ends[-1]) if len(ends) else 0), first - 4, "the last end")
    out: list[str] = []
    start = 0
    for index, end in enumerate(ends.tolist()):
        if end - start > MAX_STRING_BYTES:
            section.fail(4 + 4 * index, "the length of a string", end - start, MAX_STRING_BYTES)
        data = bytes(section.view[first + start : first + end])
        try:
            out.append(data.decode())
        except UnicodeDecodeError as error:
            section.fail(first + start + error.start, "a string", "no UTF-8", "UTF-8")
        start = end
    _unlike(section, out, [4 + 4 * index for index in range(len(out))])
    return tuple(out)


def read_sets(section: Section) -> tuple[ScalarSet, ...]:
    """Section 2."""
    ends = _ends(section)
    first = 4 + 4 * len(ends)
    count = int(ends[-1]) if len(ends) else 0
    section.exactly(first + 8 * count, first - 4, "the last end")
    spans = section.numbers(first, 2 * count).reshape(-1, 2).tolist()
    out: list[ScalarSet] = []
    start = 0
    for end in ends.tolist():
        for index in range(start, end):
            low, high = spans[index]
            at = first + 8 * index
            if index > start and low <= spans[index - 1][1] + 1:
                section.fail(at, "the low end of a range", low, "apart from the range before it")
            if not low <= high <= LAST:
                section.fail(at + 4, "the high end of a range", high, f"{low} to {LAST}")
        out.append(ScalarSet(tuple((low, high) for low, high in spans[start:end])))
        start = end
    _unlike(section, out, [4 + 4 * index for index in range(len(out))])
    return tuple(out)


def read_tables(section: Section) -> tuple[tuple[int, Any], ...]:
    """Section 3: kinds and tables."""
    section.need(16, 0, "the section")
    count = section.u32(0)
    section.zeros(4, 12)
    section.need(16 + 16 * count, 0, "the count")
    rows = section.numbers(16, 4 * count).reshape(-1, 4).tolist()
    at = 16 + 16 * count
    out: list[tuple[int, Any]] = []
    raw: list[bytes] = []
    for index, (kind, offset, length, reserved) in enumerate(rows):
        place = 16 + 16 * index
        if kind not in READERS:
            section.fail(place, "the kind of a table", kind, f"1 to {CHARSMAP}")
        if offset != at:
            section.fail(place + 4, "the offset of a table", offset, at)
        if length % 4 or at + length > len(section):
            section.fail(place + 8, "the length of a table", length, "words inside the section")
        if reserved:
            section.fail(place + 12, "a reserved field", reserved, 0)
        out.append((kind, _table(section, kind, at, length)))
        raw.append(bytes([kind]) + section.view[at : at + length])
        at += length
    section.exactly(at, 0, "the count")
    _unlike(section, raw, [16 + 16 * index for index in range(count)])
    return tuple(out)


def _table(section: Section, kind: int, at: int, length: int) -> Any:
    try:
        return READERS[kind](section.numbers(at, length // 4).tolist())
    except TableError as error:
        section.fail(at + error.at, error.field, error.got, error.expected)


def read_patterns(
    section: Section, strings: Sequence[str], sets: Sequence[ScalarSet], last_op: int
) -> tuple[tuple[Pattern, ...], list[Row]]:
    """Section 4: patterns, and their nodes for the walk."""
    section.need(16, 0, "the section")
    count, nodes = section.u32(0), section.u32(4)
    if nodes > MAX_NODES:
        section.fail(4, "the number of nodes", nodes, f"at most {MAX_NODES}")
    section.zeros(8, 8)
    first = 16 + 16 * nodes
    section.exactly(first + 4 * (count + 1), 0, "the counts")
    rows: list[Row] = list(_NODE.iter_unpack(section.view[16:first]))
    starts = section.numbers(first, count + 1)
    out: list[Pattern] = []
    at = 0
    for index in range(count):
        if starts[index] != at or at == nodes:
            section.fail(first + 4 * index, "the start of a pattern", int(starts[index]), at)
        tree = Tree(rows, strings, sets, at, last_op)
        out.append(_pattern(section, tree))
        at = tree.end
    if at != nodes or starts[count] != nodes:
        section.fail(first + 4 * count, "the end of the patterns", int(starts[count]), at)
    _unlike(section, [one.root for one in out], [first + 4 * index for index in range(count)])
    return tuple(out), rows


def _pattern(section: Section, tree: Tree) -> Pattern:
    try:
        return Pattern(tree.root())
    except NodeError as error:
        section.fail(16 + 16 * error.node + error.at, error.field, error.got, error.expected)


def first_beyond(values: Numbers, limit: int) -> int | None:
    """The index of the first number that is not below a limit."""
    beyond = np.flatnonzero(values >= limit)
    return int(beyond[0]) if len(beyond) else None
