"""Distances against slow and obvious formulas."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from trlm_lab.metrics import (
    RELATIVE_FLOOR,
    exact_quantiles,
    max_abs_difference,
    max_ulp,
    measure,
    ulp_histogram,
)

F32 = hnp.arrays(np.float32, st.integers(1, 60), elements=st.floats(-(2.0**90), 2.0**90, width=32))


@given(F32, st.integers(0, 2**32 - 1))
def test_measure_agrees_with_python_arithmetic(reference: np.ndarray, seed: int) -> None:
    noise = np.random.default_rng(seed).standard_normal(reference.size).astype(np.float32)
    candidate = reference + noise
    found = measure(reference, candidate)
    pairs = [(float(r), float(c)) for r, c in zip(reference, candidate, strict=True)]
    gaps = [abs(c - r) for r, c in pairs]
    assert found.max_abs == max(gaps) == max_abs_difference(reference, candidate)
    relative = max(g / max(abs(r), RELATIVE_FLOOR) for g, (r, _) in zip(gaps, pairs, strict=True))
    assert found.max_rel == relative
    rms = math.sqrt(math.fsum(g * g for g in gaps) / len(gaps))
    assert found.rms == pytest.approx(rms, rel=2**-45)
    assert found.elements == reference.size
    assert found.quantiles[0] == sorted(gaps)[math.ceil(len(gaps) / 2) - 1]


def test_equal_bits_skip_the_work_and_keep_the_scale() -> None:
    values = np.full((3, 4), 2.0, np.float32)
    found = measure(values, values.copy())
    assert found.bit_equal
    assert (found.max_abs, found.max_ulp, found.quantiles) == (0.0, 0, (0.0,) * 4)
    assert found.reference_rms == 2.0


def test_signed_zero_has_other_bits_and_no_distance() -> None:
    plus, minus = np.zeros(2, np.float32), np.array([0.0, -0.0], np.float32)
    found = measure(plus, minus)
    assert not found.bit_equal
    assert (found.max_abs, found.max_ulp) == (0.0, 0)


def test_chunk_borders_lose_nothing() -> None:
    reference = np.zeros(200_000, np.float32)
    for place in (0, 65_535, 65_536, 199_999):
        candidate = reference.copy()
        candidate[place] = 3.0
        found = measure(reference, candidate)
        assert found.max_abs == 3.0
        assert found.rms == math.sqrt(9.0 / 200_000)


@given(st.lists(st.integers(0, 1000), min_size=1, max_size=300), st.integers(1, 999))
def test_quantiles_are_elements_with_the_right_rank(sample: list[int], mille: int) -> None:
    share = Fraction(mille, 1000)
    (value,) = exact_quantiles(np.array(sample, np.float64), [share])
    assert value in sample
    assert sum(x <= value for x in sample) >= share * len(sample)
    assert sum(x < value for x in sample) < share * len(sample)


def test_quantiles_of_nothing_are_zero() -> None:
    assert exact_quantiles(np.zeros(0)) == (0.0,) * 4


def test_ulp_counts_float_steps_across_zero() -> None:
    tiny = np.float32(np.finfo(np.float32).smallest_subnormal)
    left = np.array([1.0, -tiny, 0.0], np.float32)
    right = np.array([np.nextafter(np.float32(1), np.float32(2)), tiny, tiny], np.float32)
    assert max_ulp(left, right) == 2


def test_ulp_histogram_bins_are_powers_of_two() -> None:
    base = np.ones(7, np.float32)
    steps = np.array([0, 1, 2, 3, 4, 7, 8], np.uint32)
    moved = (base.view(np.uint32) + steps).view(np.float32)
    found = ulp_histogram(base, moved)
    assert [row for row in found.rows() if row[2]] == [
        (0, 0, 1),
        (1, 1, 1),
        (2, 3, 2),
        (4, 7, 2),
        (8, 15, 1),
    ]
    assert sum((found + found).counts) == 14


def test_ulp_histogram_reaches_the_largest_distance_and_skips_nan() -> None:
    high = np.finfo(np.float32).max
    left = np.array([-high, np.nan, 1.0], np.float32)
    right = np.array([high, 1.0, np.inf], np.float32)
    found = ulp_histogram(left, right)
    assert found.skipped == 2
    assert found.counts[32] == 1
