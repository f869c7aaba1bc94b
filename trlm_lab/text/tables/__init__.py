"""Character tables of the source engine: sets, maps and categories, unpacked when first asked for.

They are read out of the engine over all scalars, so that no result depends on the Unicode version
of this Python.
"""

from __future__ import annotations

import base64
import hashlib
import json
import zlib
from functools import cache
from typing import Any

from trlm_lab.text.scalar_sets import ScalarSet
from trlm_lab.text.tables.data import ENGINE, PACKED, SHA256

CATEGORIES = (
    "Lu", "Ll", "Lt", "Lm", "Lo", "Mn", "Mc", "Me", "Nd", "Nl", "No", "Pc", "Pd", "Ps", "Pe",
    "Pi", "Pf", "Po", "Sm", "Sc", "Sk", "So", "Zs", "Zl", "Zp", "Cc", "Cf", "Co", "Cn",
)  # fmt: skip

__all__ = [
    "CATEGORIES",
    "ENGINE",
    "SHA256",
    "category",
    "char_map",
    "content_hash",
    "known",
    "numbers",
    "pairs",
    "scalar_set",
    "table",
]


def known(name: str) -> bool:
    """Whether there is such a table."""
    return name in PACKED


@cache
def table(name: str) -> Any:
    """The JSON value of one table."""
    return json.loads(zlib.decompress(base64.b85decode(PACKED[name])))


@cache
def scalar_set(name: str) -> ScalarSet:
    """A set of scalars, stored as lengths of runs outside and inside."""
    ranges, at = [], 0
    for index, length in enumerate(table(name)):
        if index % 2:
            ranges.append((at, at + length - 1))
        at += length
    return ScalarSet(tuple(ranges))


@cache
def category(name: str) -> ScalarSet:
    """A general category of the regular expressions, or a group such as L; empty if unknown."""
    wanted = {i for i, one in enumerate(CATEGORIES) if one == name or one[0] == name}
    ranges, at = [], 0
    for length, number in table("onig_category"):
        if number in wanted:
            ranges.append((at, at + length - 1))
        at += length
    return ScalarSet.of(ranges)


@cache
def char_map(name: str) -> dict[int, str]:
    """Scalars and the texts that stand in their place."""
    return {int(code): text for code, text in table(name).items()}


@cache
def numbers(name: str) -> dict[str, int]:
    """Scalars and a number each."""
    return {chr(int(code)): number for code, number in table(name).items()}


@cache
def pairs(name: str) -> dict[str, str]:
    """Texts of two scalars and the scalar that they make."""
    return dict(table(name))


def content_hash() -> str:
    """SHA-256 of all tables, to be held against `SHA256`."""
    rows = {name: table(name) for name in PACKED}
    form = json.dumps(rows, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(form.encode()).hexdigest()
