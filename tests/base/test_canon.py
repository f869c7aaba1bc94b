"""Canonical encoding: one spelling a value, everything else refused."""

import hashlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trlm_lab.base import canon
from trlm_lab.errors import NotCanonicalError, NotEncodableError

VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**64), 2**64 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=20)
    | st.binary(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4)
    ),
    max_leaves=20,
)


@given(VALUES)
def test_round_trip(value: object) -> None:
    assert canon.encode(canon.decode(canon.encode(value))) == canon.encode(value)


def test_known_bytes() -> None:
    # RFC 8949 appendix A, and its map order: shorter keys first.
    assert canon.encode(1.5) == bytes.fromhex("f93e00")
    assert canon.encode(100000.0) == bytes.fromhex("fa47c35000")
    assert canon.encode({"bb": 1, "a": [1, 2]}) == bytes.fromhex("a2616182010262626201")


@pytest.mark.parametrize(
    "hexes",
    [
        "1817",  # 23 in two bytes
        "fa3fc00000",  # 1.5 as a float32
        "9f01ff",  # indefinite list
        "a2626262016161820102",  # keys out of order
        "a2616101616102",  # duplicate key
        "c001",  # a tag
        "0101",  # trailing byte
        "f97e00",  # NaN
        "a10102",  # integer key
        "82",  # truncated
        "",
    ],
)
def test_other_spellings_are_refused(hexes: str) -> None:
    with pytest.raises(NotCanonicalError):
        canon.decode(bytes.fromhex(hexes))


@pytest.mark.parametrize("value", [float("nan"), float("inf"), {1: 2}, object(), 2**64, {"a": {1}}])
def test_values_without_a_form_are_refused(value: object) -> None:
    with pytest.raises(NotEncodableError):
        canon.encode(value)


def test_node_id_is_the_documented_construction() -> None:
    child = "11" * 32
    expected = hashlib.sha256(
        b"tinyrustlm-conformance-node-v1"
        + bytes.fromhex("6463617365")  # text "case"
        + bytes.fromhex("a1617801")  # {"x": 1}
        + bytes.fromhex("815820" + child)
    ).hexdigest()
    assert canon.node_id("case", {"x": 1}, [child]) == expected


def test_array_identity_ignores_memory_order_and_byte_order() -> None:
    array = np.arange(6, dtype=np.float32).reshape(2, 3)
    expected = hashlib.sha256(array.tobytes()).hexdigest()
    assert canon.array_sha256(array) == expected
    assert canon.array_sha256(np.asfortranarray(array)) == expected
    assert canon.array_sha256(array.astype(">f4")) == expected


def nested(depth: int, inner: object) -> object:
    value = inner
    for _ in range(depth):
        value = [value]
    return value


@given(VALUES)
def test_the_quick_look_agrees_with_the_slow_one(value: object) -> None:
    # What decoding makes never needs the slow one, which copies; a tuple always does.
    assert canon._is_plain(canon.decode(canon.encode(value)))
    assert canon.encode((value,)) == canon.encode([value])


@pytest.mark.parametrize(
    ("value", "plain", "sound"),
    [
        (nested(64, 1), True, True),
        (nested(65, 1), False, False),
        (nested(64, []), True, True),
        (nested(65, []), False, False),
        ((1, 2), False, True),
        (2**64 - 1, True, True),
        (2**64, False, False),
        (float("inf"), False, False),
        ({"a": {1: 2}}, False, False),
        (np.float32(1), False, False),
    ],
)
def test_where_the_quick_look_ends(value: object, plain: bool, sound: bool) -> None:
    assert canon._is_plain(value) is plain
    if sound:
        canon.decode(canon.encode(value))
    else:
        with pytest.raises(NotEncodableError):
            canon.encode(value)


@pytest.mark.parametrize("count", [0, 1, 23, 24, 255, 256, 65_535, 65_536])
def test_a_stored_node_gives_its_id_without_being_encoded(count: int) -> None:
    children = ["ab" * 32] * count
    metadata = {"x": [1.5, {"y": None}], "a": "b"}
    raw = [bytes.fromhex(child) for child in children]
    data = canon.encode({"type": "case", "metadata": metadata, "children": raw})
    expected = canon.node_id("case", metadata, children)
    assert canon.stored_node_id(data, "case", count) == expected
