"""The string table."""

import struct

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trlm_lab.errors import SlmStringError
from trlm_lab.slm.strings import encode_strings, read_strings
from trlm_lab.slm.window import Window


def read(table: bytes) -> tuple[str, ...]:
    return read_strings(Window(memoryview(table), "table"), 0, len(table))


@settings(deadline=None)
@given(st.lists(st.text(), unique=True, max_size=8))
def test_round_trip(texts: list[str]) -> None:
    texts = [t for t in texts if not any(0xD800 <= ord(c) < 0xE000 for c in t)]
    assert read(encode_strings(texts)) == tuple(texts)


def test_spans_may_stand_in_any_order() -> None:
    table = struct.pack("<IIIII", 2, 1, 1, 0, 1) + b"ab"
    assert read(table) == ("b", "a")


@pytest.mark.parametrize(
    ("table", "what"),
    [
        (b"\1\0\0", "3 bytes"),
        (struct.pack("<I", 0xFFFFFFFF), "count is 4294967295"),
        (struct.pack("<III", 1, 0, 2) + b"a", "the end of string 0"),
        (struct.pack("<III", 1, 0xFFFFFFFF, 0xFFFFFFFF) + b"a", "the offset of string 0"),
        (struct.pack("<III", 1, 0, 1) + b"ab", "the end of the last string is 1, expected 2"),
        (struct.pack("<III", 1, 1, 1) + b"ab", "the offset of string 0 is 1, expected 0"),
        (struct.pack("<IIIII", 2, 0, 2, 1, 1) + b"ab", "the offset of string 1 is 1, expected 2"),
        (struct.pack("<IIIII", 2, 0, 1, 1, 1) + b"aa", "string 1 is 'a'"),
        (struct.pack("<III", 1, 0, 2) + b"a\xff", "byte 13: a string is invalid start byte"),
        (struct.pack("<III", 1, 0, 3) + b"\xed\xa0\x80", "a string is"),
    ],
    ids=[
        "short", "count", "beyond", "huge", "tail", "hole", "overlap", "twice", "utf8", "surrogate",
    ],
)  # fmt: skip
def test_malformed_table_is_slm_string_error(table: bytes, what: str) -> None:
    with pytest.raises(SlmStringError, match=what):
        read(table)
