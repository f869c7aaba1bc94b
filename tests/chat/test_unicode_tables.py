"""The Rust renderer's character tables are what this Python says, where it has their Unicode."""

from __future__ import annotations

import unicodedata

from tools import chat_unicode_tables as tables


def test_the_committed_tables_are_python_s() -> None:
    expected = 0 if unicodedata.unidata_version == tables.VERSION else 2
    assert tables.main(["--check"]) == expected


def test_runs_are_maximal() -> None:
    assert list(tables.runs([1, 2, 3, 7, 9, 10])) == [(1, 3), (7, 7), (9, 10)]
    pairs = [("A", "a"), ("B", "b"), ("\u0100", "\u0101"), ("\u0102", "\u0103"), ("ß", "SS")]
    assert tables.changes(pairs) == [(0x41, 0x42, 1, 32), (0x100, 0x102, 2, 1)]
    assert list(tables.several(pairs)) == [("ß", "SS")]
