"""The inspector's CBOR reader agrees with the canonical encoding, both ways."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trlm_lab.base import canon
from trlm_lab.errors import InspectCborError, NotCanonicalError
from trlm_lab.inspector.cbor import read_cbor

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
LEAVES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**64), 2**64 - 1),
    st.floats(allow_nan=False, allow_infinity=False),
    st.floats(width=16, allow_nan=False, allow_infinity=False),
    TEXTS,
    st.binary(max_size=300),
)
VALUES = st.recursive(
    LEAVES, lambda v: st.one_of(st.lists(v, max_size=30), st.dictionaries(TEXTS, v, max_size=30))
)


@settings(deadline=None)
@given(VALUES)
def test_reads_what_the_encoder_writes(value: Any) -> None:
    assert read_cbor(canon.encode(value)) == value


@settings(max_examples=500, deadline=None)
@given(st.binary(max_size=40))
def test_accepts_exactly_the_canonical_bytes(data: bytes) -> None:
    try:
        want = canon.decode(data)
    except NotCanonicalError:
        with pytest.raises(InspectCborError):
            read_cbor(data)
    else:
        assert read_cbor(data) == want


@settings(max_examples=300, deadline=None)
@given(VALUES, st.data())
def test_damaged_values_are_judged_alike(value: Any, data: st.DataObject) -> None:
    raw = bytearray(canon.encode(value))
    raw[data.draw(st.integers(0, len(raw) - 1))] ^= 1 << data.draw(st.integers(0, 7))
    try:
        want = canon.decode(bytes(raw))
    except NotCanonicalError:
        with pytest.raises(InspectCborError):
            read_cbor(bytes(raw))
    else:
        assert read_cbor(bytes(raw)) == want


@pytest.mark.parametrize(
    "hexed",
    [
        "", "18", "1801", "190018", "1a0000ffff", "1b00000000ffffffff", "1c", "1f", "5f4100ff",
        "9f01ff", "bf616101ff", "c100", "f7", "f818", "f97e00", "f97c00", "fa7f800000",
        "fa3f800000", "fb3ff0000000000000", "a10101", "a2616200616100", "a2616100616100", "0000",
        "62c328", "63eda080", "9bffffffffffffffff", "bbffffffffffffffff", "5bffffffffffffffff",
        "7bffffffffffffffff", "81" * 200 + "00",
    ],
)  # fmt: skip
def test_inspect_cbor_error(hexed: str) -> None:
    with pytest.raises(InspectCborError, match=r"byte [0-9]+"):
        read_cbor(bytes.fromhex(hexed))
