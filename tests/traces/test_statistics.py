"""The figures of an array: their meaning, their declared order, and what is not finite."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.typing import NDArray

from trlm_lab.traces.statistics import FIGURES, LANES, statistics_of


def figures(values: NDArray[np.float32]) -> dict[str, float]:
    return dict(zip(FIGURES, statistics_of(values).tolist(), strict=True))


def _in_declared_order(entries: list[float]) -> float:
    lanes = [0.0] * LANES
    for i, entry in enumerate(entries):
        lanes[i % LANES] += entry
    total = 0.0
    for lane in lanes:
        total += lane
    return total


@pytest.mark.parametrize("size", [1, 5, LANES, LANES + 1, 64 * LANES, 135 * LANES + 17])
def test_sums_have_the_declared_order_to_the_bit(size: int) -> None:
    values = np.random.default_rng(size).standard_normal(size).astype(np.float32) * 1e6
    wide = values.astype(float).tolist()
    found = figures(values)
    assert found["sum"] == _in_declared_order(wide)
    assert found["sum_squares"] == _in_declared_order([w * w for w in wide])
    assert found["sum_abs"] == _in_declared_order([abs(w) for w in wide])


def test_figures_of_a_large_array() -> None:
    values = np.random.default_rng(3).standard_normal((7, 90, 333)).astype(np.float32)
    values[2, 5, :9] = 0
    values[4, 0, 1] = values[6, 1, 1] = 9
    values[1, 1, 1] = values[5, 1, 1] = -11
    found = figures(values)
    assert (found["count"], found["nonfinite"], found["zeros"]) == (values.size, 0, 9)
    assert (found["min"], found["max"], found["absmax"]) == (-11, 9, 11)
    assert found["argmin"] == values.argmin()
    assert found["argmax"] == values.argmax()
    assert math.isclose(found["mean"], values.mean(dtype=float), rel_tol=1e-12)
    assert math.isclose(found["std"], values.std(dtype=float), rel_tol=1e-12)


def test_what_is_not_finite_is_counted_and_left_out() -> None:
    values = np.full(3 * LANES, 2, dtype=np.float32)
    values[[7, 8, 2 * LANES]] = np.nan, np.inf, -np.inf
    values[9], values[2 * LANES + 1] = -0.0, 5
    found = figures(values)
    assert (found["nonfinite"], found["zeros"]) == (3, 1)
    assert (found["argmin"], found["argmax"]) == (9, 2 * LANES + 1)
    assert found["sum"] == 2 * (values.size - 5) + 5
    assert found["mean"] == found["sum"] / (values.size - 3)


def test_nothing_finite_at_all() -> None:
    found = figures(np.full((2, 3), np.nan, dtype=np.float32))
    assert (found["count"], found["nonfinite"], found["argmin"]) == (6, 6, -1)
    assert found["sum"] == 0
    assert all(math.isnan(found[name]) for name in ("min", "max", "absmax", "mean", "std"))


def test_the_masked_sentinel_overflows_nothing() -> None:
    lowest = np.finfo(np.float32).min
    found = figures(np.full((9, 64, 64), lowest, dtype=np.float32))
    assert found["min"] == found["mean"] == float(lowest)
    assert math.isfinite(found["sum_squares"])
    assert found["std"] == 0
