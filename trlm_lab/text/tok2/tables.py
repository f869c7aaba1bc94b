"""Character tables as bytes: maps, classes, compositions, runs, charsmaps."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Any

from trlm_lab.text.scalar_sets import LAST
from trlm_lab.text.tok2.numbers import CHARSMAP, CLASSES, COMPOSITIONS, MAP, MAX_GROUP, RUNS


@dataclass(frozen=True)
class Units:
    """A charsmap without its borders: the double array and the texts."""

    units: tuple[int, ...]
    texts: bytes


class TableError(ValueError):
    """What is wrong, and at which byte of the table."""

    def __init__(self, at: int, field: str, got: object, expected: object) -> None:
        super().__init__(field)
        self.at, self.field, self.got, self.expected = at, field, got, expected


def _numbers(values: Iterable[int]) -> bytes:
    row = list(values)
    return struct.pack(f"<{len(row)}I", *row)


def map_bytes(table: dict[int, str]) -> bytes:
    """Texts in place of scalars."""
    keys = sorted(table)
    texts = [table[key] for key in keys]
    ends = list(accumulate(map(len, texts)))
    codes = [ord(char) for text in texts for char in text]
    return _numbers([len(keys), len(codes), *keys, *ends, *codes])


def classes_bytes(table: dict[str, int]) -> bytes:
    """Combining classes."""
    return _numbers(ord(char) << 8 | table[char] for char in sorted(table))


def compositions_bytes(table: dict[str, str]) -> bytes:
    """Pairs and the scalar that they make."""
    return _numbers(
        code for pair in sorted(table) for code in (ord(pair[0]), ord(pair[1]), ord(table[pair]))
    )


def runs_bytes(runs: Sequence[Sequence[int]]) -> bytes:
    """Groups of scalars below an end."""
    return _numbers(number for run in runs for number in run)


def charsmap_bytes(table: Units) -> bytes:
    """Units and texts."""
    head = _numbers([len(table.units), len(table.texts), *table.units])
    return head + table.texts + bytes(-len(table.texts) % 4)


def _ascending(at: int, values: Sequence[Any], what: str) -> None:
    for index, (one, two) in enumerate(pairwise(values)):
        if two <= one:
            raise TableError(at + 4 * (index + 1), what, two, f"above {one}")


def scalars(at: int, values: Sequence[int], step: int = 4) -> None:
    """Refuse a number that is no scalar; `at` and `step` say where they stand."""
    for index, value in enumerate(values):
        if value > LAST or 0xD800 <= value < 0xE000:
            raise TableError(at + step * index, "a scalar", f"{value:#x}", "a Unicode scalar")


def _read_map(row: Sequence[int]) -> dict[int, str]:
    if len(row) < 2 or len(row) != 2 + 2 * row[0] + row[1]:
        raise TableError(0, "the length of a map", 4 * len(row), "what its counts say")
    size = row[0]
    keys, ends, codes = row[2 : 2 + size], row[2 + size : 2 + 2 * size], row[2 + 2 * size :]
    scalars(8, keys)
    _ascending(8, keys, "a key")
    _ascending(8 + 4 * size - 4, [0, *ends], "an end")
    if (ends[-1] if ends else 0) != len(codes):
        raise TableError(4, "the total of a map", len(codes), "the last end")
    scalars(8 + 8 * size, codes)
    text = "".join(map(chr, codes))
    return {key: text[a:b] for key, (a, b) in zip(keys, pairwise([0, *ends]), strict=True)}


def _read_classes(row: Sequence[int]) -> dict[str, int]:
    keys = [value >> 8 for value in row]
    scalars(0, keys)
    _ascending(0, keys, "a scalar")
    for index, value in enumerate(row):
        if not value & 0xFF:
            raise TableError(4 * index, "a class", 0, "1 to 255")
    return {chr(value >> 8): value & 0xFF for value in row}


def _read_compositions(row: Sequence[int]) -> dict[str, str]:
    if len(row) % 3:
        raise TableError(0, "the length of compositions", 4 * len(row), "a multiple of 12")
    scalars(0, row)
    pairs = list(zip(row[::3], row[1::3], strict=True))
    for index, (one, two) in enumerate(pairwise(pairs)):
        if two <= one:
            raise TableError(12 * (index + 1), "a pair", two, f"behind {one}")
    return {chr(a) + chr(b): chr(c) for (a, b), c in zip(pairs, row[2::3], strict=True)}


def _read_runs(row: Sequence[int]) -> tuple[tuple[int, int], ...]:
    ends, groups = row[::2], row[1::2]
    if not row or len(row) % 2 or ends[-1] != LAST + 1:
        raise TableError(0, "runs", 4 * len(row), "rows up to the end 0x110000")
    for index, (one, two) in enumerate(pairwise(ends)):
        if two <= one or not one:
            raise TableError(8 * (index + 1), "an end", two, f"above {one}")
    for index, group in enumerate(groups):
        if group > MAX_GROUP or (index and group == groups[index - 1]):
            raise TableError(8 * index + 4, "a group", group, "another than before, in its limit")
    return tuple(zip(ends, groups, strict=True))


def _read_charsmap(row: Sequence[int]) -> Units:
    if len(row) < 2 or not row[0] or not row[1] or len(row) != 2 + row[0] + -(-row[1] // 4):
        raise TableError(0, "the length of a charsmap", 4 * len(row), "what its counts say")
    texts = _numbers(row[2 + row[0] :])
    at = 8 + 4 * row[0]
    if any(texts[row[1] :]):
        raise TableError(at + row[1], "padding", texts[row[1] :].hex(), "zeros")
    texts = texts[: row[1]]
    try:
        texts.decode()
    except UnicodeDecodeError as error:
        raise TableError(at + error.start, "the texts", "no UTF-8", "UTF-8") from error
    if texts[-1]:
        raise TableError(at + len(texts) - 1, "the last byte of the texts", texts[-1], 0)
    return Units(tuple(row[2 : 2 + row[0]]), texts)


READERS: dict[int, Callable[[Sequence[int]], Any]] = {
    MAP: _read_map,
    CLASSES: _read_classes,
    COMPOSITIONS: _read_compositions,
    RUNS: _read_runs,
    CHARSMAP: _read_charsmap,
}
WRITERS: dict[int, Callable[[Any], bytes]] = {
    MAP: map_bytes,
    CLASSES: classes_bytes,
    COMPOSITIONS: compositions_bytes,
    RUNS: runs_bytes,
    CHARSMAP: charsmap_bytes,
}
