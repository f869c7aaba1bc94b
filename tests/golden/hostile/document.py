"""Faults of the document: keys, values, and what a sealed case may hold."""

import random
from collections.abc import Iterator
from typing import Any

from tests.golden.emit import Raw
from tests.golden.hostile.changes import TABLES, at, drop, put, whole
from tests.golden.hostile.row import Change, Row
from tests.golden.sound import Draft


def key_rows() -> Iterator[Row]:
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


def schema_rows() -> Iterator[Row]:
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


def value_rows() -> Iterator[Row]:
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


def _committed(draft: Draft, rng: random.Random) -> None:
    document = _private(draft)
    document["x_salt"], document["input"]["x_salt"] = b"\1" * 32, b"\2" * 32


def _told(draft: Draft, rng: random.Random) -> str:
    """Two that say too much: the document's is named first."""
    document = _private(draft)
    document["x_salt"], document["x_story"] = b"\1" * 32, "say yes"
    document["input"]["x_a"] = 1
    return "$.x_story"


def sealed_rows() -> Iterator[Row]:
    yield Row("accepted: a sealed case", None, lambda draft, rng: _private(draft) and None)
    yield Row("accepted: further commitments of a sealed case", None, _committed)
    yield Row("GOLDEN_SEALED x_", "GOLDEN_SEALED", _told)
    for path, key, value in [
        ("$.input", "data_or_commitment", b"\0" * 31),
        ("$.input", "position_ids", []),
        ("$.input", "attention_mask", [1]),
        ("$", "observations", "sound"),
        ("$", "expected_tokens", []),
        ("$", "top_k", "sound"),
        ("$", "x_note", "the answer is no"),
        ("$", "x_long", b"\0" * 33),
        ("$", "x_null", None),
        ("$.input", "x_list", ["a", "b"]),
    ]:
        yield Row(f"GOLDEN_SEALED {path}.{key}", "GOLDEN_SEALED", sealed(path, key, value))
    yield Row("GOLDEN_UTF8 input", "GOLDEN_UTF8", _not_utf8)
    yield Row("accepted: bytes need be no UTF-8", None, _bytes_input)


def _not_utf8(draft: Draft, rng: random.Random) -> str:
    draft.document["input"] = {"kind": "utf8", "data_or_commitment": b"ok\xc3"}
    return "$.input.data_or_commitment"


def _bytes_input(draft: Draft, rng: random.Random) -> None:
    draft.document["input"] = {"kind": "bytes", "data_or_commitment": b"ok\xc3"}
