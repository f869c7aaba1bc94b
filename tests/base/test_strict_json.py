"""Strict JSON: what other parsers repair is refused."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trlm_lab.base import strict_json
from trlm_lab.errors import JsonDuplicateKeyError, JsonError


def test_a_sound_document_is_read() -> None:
    assert strict_json.loads(b' {"a": [1, 2.5, "\\ud83d\\ude42", null]} ') == {
        "a": [1, 2.5, "\U0001f642", None]
    }


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{",
        b"{} {}",
        b"NaN",
        b"[Infinity]",
        b"1e999",
        b'"\\ud800"',
        b"\xff",
        b'{"a":1,}',
        b"[" * 200_000,
        b"9" * 5000,
    ],
)
def test_what_is_no_strict_json_is_a_json_error(data: bytes) -> None:
    with pytest.raises(JsonError, match="JSON at here"):
        strict_json.loads(data, where="here")


LONG = "7" * 5000


@pytest.mark.parametrize(
    ("text", "place"),
    [
        (LONG, "line 1, column 1 "),
        (f"-{LONG}", "line 1, column 1 "),
        (f'{{"a": "{LONG}",\n "b": [1.{LONG}, 1.5e-3, {LONG}]}}', "line 2, column 5020 "),
        (f'["\\"", "\\\\", {LONG}, {LONG}0]', "line 1, column 14 "),
        (f"[-0, {LONG}]", "line 1, column 6 "),
    ],
    ids=range(5),
)
def test_an_integer_beyond_any_field_is_named_by_its_place(text: str, place: str) -> None:
    with pytest.raises(JsonError) as caught:
        strict_json.loads(text.encode(), where="here")
    assert f"the integer at {place}has 5000 digits, at most 4300 are read" in str(caught.value)
    assert "sys." not in str(caught.value)
    assert caught.value.remedy


def test_long_numbers_elsewhere_are_read_as_before() -> None:
    assert strict_json.loads(f'["{LONG}", 0.{LONG}]'.encode()) == [LONG, float(f"0.{LONG}")]
    assert strict_json.loads(b"9" * 4300) == int("9" * 4300)


def test_a_repeated_key_is_a_duplicate_key_error() -> None:
    with pytest.raises(JsonDuplicateKeyError, match="'b' occurs twice"):
        strict_json.loads(b'{"a": {"b": 1, "c": 2, "b": 3}}')


def test_files_have_a_limit_and_must_exist(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_bytes(b"[1]")
    assert strict_json.load_file(path) == [1]
    with pytest.raises(JsonError, match="the limit is 2"):
        strict_json.load_file(path, limit=2)
    with pytest.raises(JsonError, match="no object"):
        strict_json.load_object(path)
    with pytest.raises(JsonError, match="unreadable"):
        strict_json.load_file(tmp_path / "none.json")


def test_what_is_written_is_read_back() -> None:
    value = {"b": "é\U0001f642", "a": [1.5, None, True]}
    assert strict_json.loads(strict_json.pretty(value)) == value


def test_marks_are_counted_and_nothing_is_parsed_above_them() -> None:
    data = b'{"a": [1, {"b": "x,y"}]}'
    assert strict_json.loads(data, marks=7) == {"a": [1, {"b": "x,y"}]}
    with pytest.raises(JsonError, match="7 commas, colons and brackets stand in it, the limit is"):
        strict_json.loads(data, marks=6)
    with pytest.raises(JsonError, match="the limit is 6"):
        strict_json.loads(b"no JSON,,,,,,,", marks=6)


@pytest.mark.parametrize("unit", [(b"[", b"", b"]"), (b'{"a":', b"1", b"}")], ids=["list", "map"])
@pytest.mark.parametrize("levels", [strict_json.MAX_JSON_DEPTH + 1, 5_000, 200_000])
def test_too_deep_is_said_in_words(unit: tuple[bytes, bytes, bytes], levels: int) -> None:
    """On every Python: newer ones parse deeper than older ones, and deeper than others can walk."""
    opening, leaf, closing = unit
    with pytest.raises(JsonError, match="it is nested too deep"):
        strict_json.loads(opening * levels + leaf + closing * levels)


def test_the_deepest_document_is_read() -> None:
    levels = strict_json.MAX_JSON_DEPTH
    value = strict_json.loads(b"[" * levels + b"]" * levels)
    for _ in range(levels - 1):
        (value,) = value
    assert value == []


@pytest.mark.parametrize(("text", "value"), [("-0", -0.0), ("0", 0), ("[-0, 0]", [-0.0, 0])])
def test_an_integer_with_a_signed_zero_is_no_count(text: str, value: object) -> None:
    found = strict_json.loads(text.encode())
    assert repr(found) == repr(value)
    # A text that looks so changes no number.
    assert repr(strict_json.loads(b'["-0", 7]')) == "['-0', 7]"


pieces = st.sampled_from(
    [
        "\\ud83d",
        "\\uDE42",
        "\\udbff",
        "\\uDfff",
        "\\\\",
        "\\n",
        "\\u0041",
        "u",
        "ud83d",
        "d",
        "\u00e9",
    ]
)


@pytest.mark.parametrize(
    ("data", "index", "escape"),
    [
        (b'{"text":"a\\ud800b"}', 10, r"\ud800"),
        ('["\u00e9\\\\udc00 \\uDC00"]'.encode(), 12, r"\uDC00"),
    ],
)
def test_the_place_of_half_a_surrogate_pair(data: bytes, index: int, escape: str) -> None:
    with pytest.raises(JsonError) as refused:
        strict_json.loads(data, where="line 1")
    assert refused.value.where == "line 1"
    assert refused.value.facts["index"] == index
    assert f"{escape} at byte {index}" in str(refused.value)
    assert data[index:].startswith(escape.encode())


@given(st.lists(pieces, max_size=8))
def test_half_a_surrogate_pair_is_found_wherever_it_stands(parts: list[str]) -> None:
    data = ('{"a": "' + "".join(parts) + '"}').encode()
    try:
        json.loads(data)["a"].encode()
    except UnicodeEncodeError:
        with pytest.raises(JsonError, match="half a surrogate pair"):
            strict_json.loads(data)
    else:
        assert strict_json.loads(data) == json.loads(data)
