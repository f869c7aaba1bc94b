"""Sums have one order."""

import math
from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from trlm_lab.metrics import CHUNK, fold, spans, sum_of_squares


@given(st.integers(0, 5 * CHUNK))
def test_spans_cover_every_element_once(length: int) -> None:
    covered = [(s.start, s.stop) for s in spans(length)]
    assert sum(stop - start for start, stop in covered) == length
    assert all(a[1] == b[0] for a, b in pairwise(covered))


@given(st.lists(st.integers(-(2**40), 2**40), max_size=70))
def test_folding_integers_is_their_sum(numbers: list[int]) -> None:
    assert fold(np.array(numbers, dtype=np.float64)) == sum(numbers)


def test_the_order_of_the_fold_is_by_halving() -> None:
    # (1e16 + 1) + (1 + -1e16) loses both ones; pairing i with i + 2 keeps them.
    assert fold(np.array([1e16, 1.0, -1e16, 1.0])) == 2.0
    assert fold(np.array([1e16, -1e16, 1.0, 1.0])) == 0.0


def test_sum_of_squares_near_the_exact_sum() -> None:
    values = np.random.default_rng(3).standard_normal(3 * CHUNK + 17).astype(np.float32)
    exact = math.fsum(float(v) ** 2 for v in values)
    assert abs(sum_of_squares(values) - exact) <= exact * 2**-50
