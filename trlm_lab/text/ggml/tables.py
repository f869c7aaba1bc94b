"""llama.cpp's own character tables: what a scalar is, its lower case, its letter without accent."""

from __future__ import annotations

import base64
import json
import zlib
from bisect import bisect_right
from functools import cache
from typing import Any

from trlm_lab.text.ggml.table_data import PACKED

UNDEFINED, NUMBER, LETTER, SEPARATOR, MARK, PUNCTUATION, SYMBOL, CONTROL, SPACE = (
    1 << bit for bit in range(9)
)


@cache
def tables() -> dict[str, Any]:
    """Flags in runs, white space, lower case and decompositions, as rows of numbers."""
    rows: dict[str, Any] = json.loads(form())
    return rows


def form() -> bytes:
    """The JSON form that the hash is of."""
    return zlib.decompress(base64.b85decode(PACKED))


class Flags(dict[int, int]):
    """Flags by scalar, found when first asked for."""

    def __init__(self) -> None:
        self._starts = [start for start, _ in tables()["flags"]]
        self._flags = [flags for _, flags in tables()["flags"]]
        self._space = frozenset(tables()["space"])

    def __missing__(self, code: int) -> int:
        found = self._flags[bisect_right(self._starts, code) - 1]
        self[code] = found | (SPACE if code in self._space else 0)
        return self[code]


@cache
def flags() -> Flags:
    """Flags of every scalar."""
    return Flags()


@cache
def lower() -> dict[int, int]:
    """Scalars and their lower case."""
    return dict(tables()["lower"])


@cache
def plain() -> dict[int, int]:
    """Scalars and the first scalar of their decomposition, where that is another one."""
    return {
        code: first
        for low, high, first in tables()["nfd"]
        for code in range(low, high + 1)
        if code != first
    }
