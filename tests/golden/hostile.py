"""THE table of hostile golden containers: a name, a change to a sound case, and what it must give.

Nothing is stored: every directory is made in the test from the seed of its name. A row's change
gets a fresh draft and a generator; it returns the place, or None where the place is the offset of
the one `Raw` item in the document.
"""

import hashlib
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from tests.golden.emit import Pairs, Raw, double, emit, half, head, single
from tests.golden.sound import Draft, sound

Change = Callable[[Draft, random.Random], str | None]


@dataclass(frozen=True)
class Row:
    """`code` is None for a case that must be accepted."""

    name: str
    code: str | None
    change: Change


@dataclass(frozen=True)
class Hostile:
    """The bytes of a row, and the one finding that it must give."""

    data: bytes | None
    draft: Draft
    finding: tuple[str, str] | None


def made(row: Row) -> Hostile:
    """A row's directory; the same at every call."""
    rng = random.Random(row.name)
    draft = sound(rng)
    place = row.change(draft, rng)
    if draft.document is None or isinstance(draft.document, bytes):
        data, fault = draft.document, None
    else:
        data, fault = emit(draft.document)
    where = f"byte {fault}" if place is None else place
    return Hostile(data, draft, None if row.code is None else (row.code, where))


# --- the encoding -----------------------------------------------------------------------------

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


def _encoding_rows() -> Iterator[Row]:
    for code, raws in ENCODING.items():
        for name, raw in raws.items():
            yield Row(f"{code} {name}", code, planted(raw))


# --- the file as a whole ----------------------------------------------------------------------


def _as_bytes(change: Callable[[bytes], tuple[bytes, str]]) -> Change:
    def on_draft(draft: Draft, rng: random.Random) -> str:
        draft.document, place = change(emit(draft.document)[0])
        return place

    return on_draft


def _deep(levels: int, unit: bytes) -> Change:
    def change(draft: Draft, rng: random.Random) -> None:
        # The document itself is the first level; so the 16th unit is the 17th.
        draft.document["x_deep"] = Raw(unit * levels + b"\x00", 15 * len(unit))

    return change


def _accept_deep(draft: Draft, rng: random.Random) -> None:
    draft.document["x_deep"] = Raw(b"\x81" * 15 + b"\x00", None)


def _fifteen_deep_observation(draft: Draft, rng: random.Random) -> None:
    draft.document["observations"][0]["x_deep"] = Raw(b"\x81" * 14 + b"\x00", 13)


def _last_item(data: bytes) -> int:
    """Offset of the last value: 32 bytes of an identity."""
    assert data[-34:-32] == b"\x58\x20"
    return len(data) - 34


def _many_items(data: bytes) -> tuple[bytes, str]:
    return head(4, 1_000_000) + b"\x00" * 1_000_000, f"byte {5 + 999_999}"


def _whole_rows() -> Iterator[Row]:
    cut = {
        "GOLDEN_TRUNCATED nothing": lambda data: (b"", "byte 0"),
        "GOLDEN_TRUNCATED last byte": lambda d: (d[:-1], f"byte {_last_item(d)}"),
        "GOLDEN_TRUNCATED before a value": lambda d: (d[:-34], f"byte {len(d) - 34}"),
        "GOLDEN_TRUNCATED head alone": lambda d: (d[:1], "byte 0"),
        "GOLDEN_TRUNCATED argument": lambda d: (b"\x1b\x00\x00", "byte 0"),
        "GOLDEN_TRUNCATED float": lambda d: (b"\xfb\x7f\xf0", "byte 0"),
        "GOLDEN_TRUNCATED text": lambda d: (b"\x62\xff", "byte 0"),
        "GOLDEN_TRAILING zero": lambda d: (d + b"\x00", f"byte {len(d)}"),
        "GOLDEN_TRAILING newline": lambda d: (d + b"\n", f"byte {len(d)}"),
        "GOLDEN_TRAILING itself": lambda d: (d + d, f"byte {len(d)}"),
        "GOLDEN_TRAILING after another value": lambda d: (b"\x00" + d, "byte 1"),
        "GOLDEN_TAG in front": lambda d: (b"\xd9\xd9\xf7" + d, "byte 0"),
        "GOLDEN_SIZE items": _many_items,
        "GOLDEN_SIZE bytes": lambda d: (d + b"\x00" * (1 << 24), "case.cbor"),
    }
    for name, change in cut.items():
        yield Row(name, name.split()[0], _as_bytes(change))
    yield Row("GOLDEN_DEPTH one too many", "GOLDEN_DEPTH", _deep(16, b"\x81"))
    yield Row("GOLDEN_DEPTH bomb of lists", "GOLDEN_DEPTH", _deep(200_000, b"\x81"))
    yield Row("GOLDEN_DEPTH bomb of maps", "GOLDEN_DEPTH", _deep(50_000, b"\xa1\x61a"))
    yield Row("GOLDEN_DEPTH in an observation", "GOLDEN_DEPTH", _fifteen_deep_observation)
    yield Row("accepted: sixteen levels", None, _accept_deep)
    yield Row("GOLDEN_CASE_MISSING", "GOLDEN_CASE_MISSING", _no_document)


def _no_document(draft: Draft, rng: random.Random) -> str:
    draft.document = None
    return "case.cbor"


# --- the document -----------------------------------------------------------------------------

#: Where each map of the schema stands, and its keys: required, then optional.
TABLES: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "$": (
        ("case_id", "case_class", "source_identity", "effective_config_identity",
         "tokenizer_identity", "template_identity", "oracle_generator_identity", "input",
         "observations", "top_k", "generator_receipt"),
        ("expected_tokens", "raw_output_commitment"),
    ),
    "$.input": (("kind", "data_or_commitment"), ("position_ids", "attention_mask")),
    "$.observations[1]": (
        ("name", "semantic_role", "shape", "dtype", "byte_order", "layout", "data_blob_hash",
         "tolerance_profile"),
        ("layer", "slice_description"),
    ),
    "$.top_k[1]": (("id", "logit_bits"), ()),
}  # fmt: skip


def at(document: Any, path: str) -> Any:
    """The map at a path of `TABLES`."""
    found = document
    for part in path.removeprefix("$").lstrip(".").replace("[", ".[").split("."):
        if part.startswith("["):
            found = found[int(part[1:-1])]
        elif part:
            found = found[part]
    return found


def put(path: str, key: str, value: Any, place: str | None = None) -> Change:
    """Set a key; the place is the key's own unless another is given."""

    def change(draft: Draft, rng: random.Random) -> str:
        at(draft.document, path)[key] = value
        return place or f"{path}.{key}"

    return change


def drop(path: str, key: str) -> Change:
    def change(draft: Draft, rng: random.Random) -> str:
        del at(draft.document, path)[key]
        return f"{path}.{key}"

    return change


def whole(value: Any) -> Change:
    def change(draft: Draft, rng: random.Random) -> str:
        draft.document = value
        return "$.schema"

    return change


def _key_rows() -> Iterator[Row]:
    for path, (required, optional) in TABLES.items():
        for key in required:
            yield Row(f"GOLDEN_MISSING_KEY {path}.{key}", "GOLDEN_MISSING_KEY", drop(path, key))
        for key in (*required, *optional):
            change = put(path, key, None)
            yield Row(f"GOLDEN_TYPE null for {path}.{key}", "GOLDEN_TYPE", change)
        for key in optional:
            yield Row(f"accepted: without {path}.{key}", None, drop(path, key))
        for key in ("required_feature", "X_", "x", "", "__proto__", "schema_"):
            name = f"GOLDEN_UNKNOWN_KEY {path}.{key}"
            yield Row(name, "GOLDEN_UNKNOWN_KEY", put(path, key, 1))
        yield Row(f"accepted: x_ in {path}", None, put(path, "x_", [None, {"a": -0.0}, -1]))


def _schema_rows() -> Iterator[Row]:
    documents = {
        "a list": [],
        "null": Raw(b"\xf6", None),
        "a text": "tinyrustlm.golden.v1",
        "an empty map": {},
        "an integer": 1,
    }
    for name, value in documents.items():
        yield Row(f"GOLDEN_SCHEMA {name}", "GOLDEN_SCHEMA", whole(value))
    for value in ("tinyrustlm.receipt.v1", "", "tinyrustlm.golden", 1, b"tinyrustlm.golden.v1"):
        yield Row(f"GOLDEN_SCHEMA {value!r}", "GOLDEN_SCHEMA", put("$", "schema", value))
    for version in ("2", "0", "10", "1.1", "1 ", ""):
        value = f"tinyrustlm.golden.v{version}"
        yield Row(f"GOLDEN_VERSION {value!r}", "GOLDEN_VERSION", put("$", "schema", value))
    yield Row("GOLDEN_VERSION before unknown keys", "GOLDEN_VERSION", _future)


def _future(draft: Draft, rng: random.Random) -> str:
    draft.document |= {"schema": "tinyrustlm.golden.v2", "unheard": 1}
    del draft.document["top_k"]
    return "$.schema"


def _value_rows() -> Iterator[Row]:
    one = "$.observations[1]"
    rows: list[tuple[str, str, str, Any, str | None]] = [
        ("GOLDEN_TYPE", "$", "case_id", "a" * 32, None),
        ("GOLDEN_TYPE", "$", "input", [], None),
        ("GOLDEN_TYPE", "$", "observations", {}, None),
        ("GOLDEN_TYPE", "$", "observations", [1], "$.observations[0]"),
        ("GOLDEN_TYPE", "$", "top_k", [[]], "$.top_k[0]"),
        ("GOLDEN_TYPE", "$", "expected_tokens", [1, -1], "$.expected_tokens[1]"),
        ("GOLDEN_TYPE", "$", "expected_tokens", [1.0], "$.expected_tokens[0]"),
        ("GOLDEN_TYPE", "$", "expected_tokens", [True], "$.expected_tokens[0]"),
        ("GOLDEN_TYPE", "$.input", "data_or_commitment", "text", None),
        ("GOLDEN_TYPE", "$.input", "position_ids", [0, "1"], "$.input.position_ids[1]"),
        ("GOLDEN_TYPE", one, "layer", -1, None),
        ("GOLDEN_TYPE", one, "layer", 1.0, None),
        ("GOLDEN_TYPE", one, "layer", False, None),
        ("GOLDEN_TYPE", one, "shape", [2, -2], f"{one}.shape[1]"),
        ("GOLDEN_TYPE", one, "shape", [2.0], f"{one}.shape[0]"),
        ("GOLDEN_TYPE", one, "dtype", 1, None),
        ("GOLDEN_TYPE", "$.top_k[1]", "id", -7, None),
        ("GOLDEN_VALUE", "$", "case_id", b"\0" * 31, None),
        ("GOLDEN_VALUE", "$", "generator_receipt", b"\0" * 33, None),
        ("GOLDEN_VALUE", "$", "raw_output_commitment", b"", None),
        ("GOLDEN_VALUE", "$", "case_class", "public", None),
        ("GOLDEN_VALUE", "$.input", "kind", "token_id", None),
        ("GOLDEN_VALUE", "$.input", "attention_mask", [1, 2], "$.input.attention_mask[1]"),
        ("GOLDEN_VALUE", one, "name", "", None),
        ("GOLDEN_VALUE", one, "semantic_role", "", None),
        ("GOLDEN_VALUE", one, "dtype", "f8", None),
        ("GOLDEN_VALUE", one, "dtype", "constructor", None),
        ("GOLDEN_VALUE", one, "byte_order", "big", None),
        ("GOLDEN_VALUE", one, "layout", "fortran", None),
        ("GOLDEN_VALUE", one, "data_blob_hash", b"\0" * 20, None),
        ("GOLDEN_VALUE", "$.top_k[1]", "logit_bits", b"\0" * 3, None),
        ("GOLDEN_OBSERVATIONS", "$", "observations", [0] * 10_001, None),
        ("GOLDEN_RANK", one, "shape", [1] * 9, None),
        ("GOLDEN_RANK", one, "shape", ["x"] * 1000, None),
        ("GOLDEN_DIMENSION", one, "shape", [1, 2**31 + 1], f"{one}.shape[1]"),
        ("GOLDEN_DIMENSION", one, "shape", [2**64 - 1], f"{one}.shape[0]"),
        ("GOLDEN_BYTES", one, "shape", [65536, 65536], None),
        ("GOLDEN_BYTES", one, "shape", [2**31], None),
        ("GOLDEN_BYTES", one, "shape", [2**31, 2**31], None),
        ("GOLDEN_BYTES", one, "shape", [2**31, 2**31, 4], None),
        ("GOLDEN_BYTES", one, "shape", [2**31] * 8, None),
        ("GOLDEN_BYTES", one, "shape", [2**31, 2**31, 0], None),
        ("GOLDEN_DUPLICATE_NAME", "$.observations[2]", "name", "embedding", None),
    ]
    for i, (code, path, key, value, place) in enumerate(rows):
        yield Row(f"{code} {i} {path}.{key}", code, put(path, key, value, place))
    yield Row("accepted: the same name, another slice", None, put(one, "name", "embedding"))


def _private(draft: Draft) -> Any:
    """The draft as a sealed case."""
    document = draft.document
    document["case_class"] = "private_behavior_commitment"
    document["input"] = {"kind": "utf8", "data_or_commitment": b"\xff" * 32}
    document["observations"], document["top_k"] = [], []
    del document["expected_tokens"]
    draft.files.clear()
    return document


def sealed(path: str, key: str, value: Any) -> Change:
    def change(draft: Draft, rng: random.Random) -> str:
        shown = value if value != "sound" else draft.document[key]
        at(_private(draft), path)[key] = shown
        return f"{path}.{key}"

    return change


def _sealed_rows() -> Iterator[Row]:
    yield Row("accepted: a sealed case", None, lambda draft, rng: _private(draft) and None)
    for path, key, value in [
        ("$.input", "data_or_commitment", b"\0" * 31),
        ("$.input", "position_ids", []),
        ("$.input", "attention_mask", [1]),
        ("$", "observations", "sound"),
        ("$", "expected_tokens", []),
        ("$", "top_k", "sound"),
    ]:
        yield Row(f"GOLDEN_SEALED {path}.{key}", "GOLDEN_SEALED", sealed(path, key, value))
    yield Row("GOLDEN_UTF8 input", "GOLDEN_UTF8", _not_utf8)
    yield Row("accepted: bytes need be no UTF-8", None, _bytes_input)


def _not_utf8(draft: Draft, rng: random.Random) -> str:
    draft.document["input"] = {"kind": "utf8", "data_or_commitment": b"ok\xc3"}
    return "$.input.data_or_commitment"


def _bytes_input(draft: Draft, rng: random.Random) -> None:
    draft.document["input"] = {"kind": "bytes", "data_or_commitment": b"ok\xc3"}


# --- the blobs --------------------------------------------------------------------------------


def blob(change: Callable[[bytes], bytes | None]) -> Change:
    """Change the bytes of one blob, or take it away."""

    def on_draft(draft: Draft, rng: random.Random) -> str:
        path = rng.choice(sorted(draft.files))
        data = change(draft.files.pop(path))
        if data is not None:
            draft.files[path] = data
        return path

    return on_draft


def _flipped(data: bytes) -> bytes:
    return bytes([data[0] ^ 1]) + data[1:]


def _linked(draft: Draft, rng: random.Random) -> str:
    path = rng.choice(sorted(draft.files))
    draft.files["target"] = draft.files.pop(path)
    draft.links[path] = "../target"
    return path


def _folder(draft: Draft, rng: random.Random) -> str:
    path = rng.choice(sorted(draft.files))
    del draft.files[path]
    draft.folders.append(path)
    return path


def _upper(draft: Draft, rng: random.Random) -> str:
    path = next(p for p in sorted(draft.files) if p.upper() != p)
    draft.files["blobs/" + path.removeprefix("blobs/").upper()] = draft.files.pop(path)
    return path


def _two_lengths(draft: Draft, rng: random.Random) -> str:
    first, second = draft.document["observations"][:2]
    del draft.files[f"blobs/{second['data_blob_hash'].hex()}"]
    second["data_blob_hash"] = first["data_blob_hash"]
    return f"blobs/{first['data_blob_hash'].hex()}"


def _large(draft: Draft, rng: random.Random) -> str:
    draft.document["observations"][0] |= {"dtype": "u8", "shape": [2**31, 2]}
    return f"blobs/{draft.document['observations'][0]['data_blob_hash'].hex()}"


def _empty(draft: Draft, rng: random.Random) -> None:
    digest = hashlib.sha256(b"")
    draft.files[f"blobs/{digest.hexdigest()}"] = b""
    row = draft.document["observations"][0]
    draft.files.pop(f"blobs/{row['data_blob_hash'].hex()}")
    row |= {"shape": [0, 2**31, 2**31], "data_blob_hash": digest.digest()}


def _nan(draft: Draft, rng: random.Random) -> None:
    """Signalling, signed, with payloads: bits in a blob mean nothing to a reader."""
    data = b"\x01\x00\x80\x7f\xef\xbe\xc0\xff\x00\x00\xc0\x7f"
    digest = hashlib.sha256(data)
    draft.files[f"blobs/{digest.hexdigest()}"] = data
    row = dict(draft.document["observations"][0], name="nan", shape=[3])
    draft.document["observations"].append(row | {"data_blob_hash": digest.digest()})


def _blob_rows() -> Iterator[Row]:
    yield Row("GOLDEN_BLOB_MISSING", "GOLDEN_BLOB_MISSING", blob(lambda data: None))
    yield Row("GOLDEN_BLOB_MISSING link", "GOLDEN_BLOB_MISSING", _linked)
    yield Row("GOLDEN_BLOB_MISSING folder", "GOLDEN_BLOB_MISSING", _folder)
    yield Row("GOLDEN_BLOB_MISSING upper case", "GOLDEN_BLOB_MISSING", _upper)
    yield Row("GOLDEN_BLOB_LENGTH short", "GOLDEN_BLOB_LENGTH", blob(lambda data: data[:-1]))
    yield Row("GOLDEN_BLOB_LENGTH empty", "GOLDEN_BLOB_LENGTH", blob(lambda data: b""))
    yield Row("GOLDEN_BLOB_LENGTH long", "GOLDEN_BLOB_LENGTH", blob(lambda data: data + b"\0"))
    yield Row("GOLDEN_BLOB_LENGTH of two shapes", "GOLDEN_BLOB_LENGTH", _two_lengths)
    yield Row("GOLDEN_BLOB_LENGTH 4 GiB declared", "GOLDEN_BLOB_LENGTH", _large)
    yield Row("GOLDEN_BLOB_HASH", "GOLDEN_BLOB_HASH", blob(_flipped))
    yield Row("accepted: an empty array", None, _empty)
    yield Row("accepted: NaN bits in a blob", None, _nan)
    yield Row("accepted: as it is", None, lambda draft, rng: None)


def _order_rows() -> Iterator[Row]:
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


ROWS: tuple[Row, ...] = (
    *_encoding_rows(),
    *_whole_rows(),
    *_order_rows(),
    *_schema_rows(),
    *_key_rows(),
    *_value_rows(),
    *_sealed_rows(),
    *_blob_rows(),
)
