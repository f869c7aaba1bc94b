"""Faults of the encoding, planted somewhere in the document."""

import random
from collections.abc import Iterator
from typing import Any

from tests.golden.emit import Pairs, Raw, double, emit, half, single
from tests.golden.hostile.row import Change, Row
from tests.golden.sound import Draft

ENCODING: dict[str, dict[str, Raw]] = {
    "GOLDEN_INTEGER": {
        "one byte for 23": Raw(b"\x18\x17"),
        "two bytes for 255": Raw(b"\x19\x00\xff"),
        "four bytes for 65535": Raw(b"\x1a\x00\x00\xff\xff"),
        "eight bytes for 2^32-1": Raw(b"\x1b\x00\x00\x00\x00\xff\xff\xff\xff"),
        "a negative one": Raw(b"\x38\x00"),
        "length of a byte string": Raw(b"\x58\x01a"),
        "length of a text": Raw(b"\x78\x01a"),
        "length of a list": Raw(b"\x98\x00"),
        "length of a map": Raw(b"\xb9\x00\x01\x61a\x00"),
        "length of a key": Raw(b"\xa1\x78\x01a\x00", 1),
    },
    "GOLDEN_FLOAT": {
        "single for a half": Raw(single(1.0)),
        "double for a half": Raw(double(-2.5)),
        "double for a single": Raw(double(100000.0)),
        "single for a half subnormal": Raw(single(2.0**-24)),
        "double for a single subnormal": Raw(double(2.0**-149)),
        "single for minus zero": Raw(single(-0.0)),
        "double for the largest half": Raw(double(65504.0)),
    },
    "GOLDEN_NONFINITE": {
        "half NaN": Raw(b"\xf9\x7e\x00"),
        "half NaN with a payload": Raw(b"\xf9\x7e\x01"),
        "half NaN with a sign": Raw(b"\xf9\xfe\x00"),
        "half infinity": Raw(half(float("inf"))),
        "half minus infinity": Raw(half(float("-inf"))),
        "single NaN with a payload": Raw(b"\xfa\x7f\xc0\x00\x01"),
        "single signalling NaN": Raw(b"\xfa\x7f\x80\x00\x01"),
        "single infinity": Raw(single(float("inf"))),
        "double NaN with a payload": Raw(b"\xfb\x7f\xf8\x00\x00\x00\x00\xbe\xef"),
        "double minus infinity": Raw(double(float("-inf"))),
    },
    "GOLDEN_INDEFINITE": {
        "list": Raw(b"\x9f\xff"),
        "map": Raw(b"\xbf\xff"),
        "byte string": Raw(b"\x5f\x41a\xff"),
        "text": Raw(b"\x7f\x61a\xff"),
        "break": Raw(b"\xff"),
        "integer": Raw(b"\x1f"),
        "key": Raw(b"\xa1\x7f\x61a\xff\x00", 1),
    },
    "GOLDEN_TAG": {
        "date": Raw(b"\xc0\x61a"),
        "bignum": Raw(b"\xc2\x49\x01" + b"\x00" * 8),
        "self-described": Raw(b"\xd9\xd9\xf7\x00"),
        "long form": Raw(b"\xd8\x01\x00"),
        "indefinite": Raw(b"\xdf"),
    },
    "GOLDEN_RESERVED": {
        "28": Raw(b"\x1c"),
        "29 of a string": Raw(b"\x5d"),
        "30 of a float": Raw(b"\xfe"),
        "undefined": Raw(b"\xf7"),
        "simple 0": Raw(b"\xe0"),
        "simple 19": Raw(b"\xf3"),
        "simple in two bytes": Raw(b"\xf8\x20"),
        "false in two bytes": Raw(b"\xf8\x14"),
    },
    "GOLDEN_UTF8": {
        "a lone byte": Raw(b"\x61\x80"),
        "overlong": Raw(b"\x62\xc0\x80"),
        "a surrogate": Raw(b"\x63\xed\xa0\x80"),
        "cut short": Raw(b"\x62\xe2\x82"),
        "above U+10FFFF": Raw(b"\x64\xf4\x90\x80\x80"),
        "in a key": Raw(b"\xa1\x61\xff\x00", 1),
    },
    "GOLDEN_KEY_TYPE": {
        "integer": Raw(b"\xa1\x01\x00", 1),
        "byte string": Raw(b"\xa1\x41a\x00", 1),
        "tagged": Raw(b"\xa1\xc0\x61a\x00", 1),
        "null": Raw(b"\xa1\xf6\x00", 1),
        "second key": Raw(b"\xa2\x61a\x00\x20\x00", 4),
    },
    "GOLDEN_KEY_ORDER": {
        "bytewise": Raw(b"\xa2\x61b\x00\x61a\x00", 4),
        "longer first": Raw(b"\xa2\x62aa\x00\x61b\x00", 5),
        "repeated further on": Raw(b"\xa3\x61a\x00\x61b\x00\x61a\x00", 7),
        "bytes and not code units": Raw(
            b"\xa2\x64\xf0\x90\x80\x80\x00" + b"\x64a\xef\xbf\xbd\x00", 7
        ),
    },
    "GOLDEN_DUPLICATE_KEY": {
        "at once": Raw(b"\xa2\x61a\x00\x61a\x00", 4),
        "the empty key": Raw(b"\xa2\x60\x00\x60\x01", 3),
        "third": Raw(b"\xa3\x61a\x00\x61b\x00\x61b\x00", 7),
    },
    "GOLDEN_TRUNCATED": {
        "a list of 2^64-1": Raw(b"\x9b" + b"\xff" * 8),
        "a list of 2^62": Raw(b"\x9b\x40" + b"\x00" * 7),
        "a list of 2^31-1": Raw(b"\x9a\x7f\xff\xff\xff"),
        "a map of 2^63, twice which is zero": Raw(b"\xbb\x80" + b"\x00" * 7),
        "a byte string of 2^64-1": Raw(b"\x5b" + b"\xff" * 8),
        "a text of 2^32-1": Raw(b"\x7a" + b"\xff" * 4),
    },
}


def _maps(document: Any) -> list[dict[str, Any]]:
    """Every map that a fault may be put into."""
    return [document, document["input"], *document["observations"], *document["top_k"]]


def planted(raw: Raw) -> Change:
    """The fault as an `x_` value of some map, perhaps in a list or map of its own."""

    def change(draft: Draft, rng: random.Random) -> None:
        value: Any = raw
        for _ in range(rng.randrange(3)):
            value = [1, value] if rng.random() < 0.5 else {"a": value, "bb": None}
        rng.choice(_maps(draft.document))["x_fault"] = value

    return change


def encoding_rows() -> Iterator[Row]:
    for code, raws in ENCODING.items():
        for name, raw in raws.items():
            yield Row(f"{code} {name}", code, planted(raw))


def order_rows() -> Iterator[Row]:
    """The document's own maps with keys swapped or repeated."""

    def swapped(draft: Draft, rng: random.Random) -> str:
        rows = sorted(draft.document.items(), key=lambda pair: (len(pair[0]), pair[0]))
        rows[0], rows[1] = rows[1], rows[0]
        start = len(emit(Pairs(tuple(rows[:1])))[0])
        draft.document = Pairs(tuple(rows))
        return f"byte {start}"

    def repeated(draft: Draft, rng: random.Random) -> str:
        rows = sorted(draft.document.items(), key=lambda pair: (len(pair[0]), pair[0]))
        start = len(emit(Pairs(tuple(rows)))[0])
        draft.document = Pairs((*rows, rows[-1]))
        return f"byte {start}"

    yield Row("GOLDEN_KEY_ORDER of the document", "GOLDEN_KEY_ORDER", swapped)
    yield Row("GOLDEN_DUPLICATE_KEY of the document", "GOLDEN_DUPLICATE_KEY", repeated)
