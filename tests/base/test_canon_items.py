"""The number of values in an encoding, without building them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trlm_lab.base import canon
from trlm_lab.base.canon_items import require_items
from trlm_lab.errors import NotCanonicalError

VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**64), 2**64 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text()
    | st.binary(max_size=300),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


def count(value: object) -> int:
    if isinstance(value, list):
        return 1 + sum(map(count, value))
    if isinstance(value, dict):
        return 1 + sum(1 + count(item) for item in value.values())
    return 1


@given(VALUES)
def test_every_value_counts_once(value: object) -> None:
    data = canon.encode(value)
    require_items(data, count(value), where="x")
    with pytest.raises(NotCanonicalError):
        require_items(data, count(value) - 1, where="x")


@given(st.binary(max_size=200))
def test_any_bytes_have_an_end(data: bytes) -> None:
    require_items(data, len(data), where="x")
