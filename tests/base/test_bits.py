"""Bit views of floats."""

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trlm_lab.base import bits

FINITE = st.floats(width=32, allow_nan=False, allow_infinity=False)


@given(FINITE)
def test_neighbours_are_one_ulp_apart(value: float) -> None:
    x = np.float32(value)
    with np.errstate(over="ignore"):
        up = np.nextafter(x, np.float32(np.inf))
    if np.isfinite(up):
        assert bits.ulp_distance(np.array([x]), np.array([up]))[0] == (0 if x == up else 1)


def test_ulp_distance_crosses_zero() -> None:
    tiny = np.array([np.float32(1e-45), np.float32(0.0), np.float32(-0.0)], dtype=np.float32)
    assert bits.ulp_distance(tiny, -tiny).tolist() == [2, 0, 0]


@given(st.lists(FINITE, min_size=1, max_size=50))
def test_bf16_rounding_equals_an_independent_library(values: list[float]) -> None:
    x = np.array(values, dtype=np.float32)
    with np.errstate(over="ignore"):
        expected = x.astype(ml_dtypes.bfloat16).astype(np.float32)
        assert bits.same_bits(bits.round_to_bf16(x), expected)


def test_first_nonfinite_names_the_first() -> None:
    x = np.array([[1.0, np.inf], [np.nan, 2.0]], dtype=np.float32)
    assert bits.first_nonfinite(x) == 1
    assert bits.first_nonfinite(np.zeros(3, dtype=np.float32)) is None


@pytest.mark.parametrize(("a", "b"), [([0.0], [-0.0]), ([1.0], [1.0, 1.0])])
def test_same_bits_tells_zeros_and_shapes_apart(a: list[float], b: list[float]) -> None:
    assert not bits.same_bits(np.array(a, np.float32), np.array(b, np.float32))
