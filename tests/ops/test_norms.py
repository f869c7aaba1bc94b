"""RMSNorm and LayerNorm against literal float32 loops and against float64."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from tests.ops.bounds import dot_depth, gamma
from trlm_lab.backends.profiles import evaluation_profile
from trlm_lab.base.bits import same_bits
from trlm_lab.errors import ShapeMismatchError
from trlm_lab.ops.arithmetic import Arithmetic, Array
from trlm_lab.ops.evaluation_profile import EvaluationProfile
from trlm_lab.ops.layer_norm import layer_norm
from trlm_lab.ops.rms_norm import rms_norm

F32 = np.float32
SCALAR = evaluation_profile("scalar-f32-v1").arithmetic()

rows = hnp.arrays(
    F32,
    st.tuples(st.integers(1, 3), st.integers(1, 40)),
    elements=st.floats(-1000, 1000, width=32),
)


def literal_rms_norm(row: Array, weight: Array, eps: F32) -> list[F32]:
    total = F32(0)
    for value in row:
        total = F32(total + F32(value * value))
    scale = F32(F32(1) / np.sqrt(F32(F32(total / F32(len(row))) + eps)))
    return [F32(w * F32(v * scale)) for v, w in zip(row, weight, strict=True)]


@given(rows, st.sampled_from([1e-5, 1e-6]))
def test_rms_norm_is_the_literal_loop(x: Array, eps: float) -> None:
    weight = np.linspace(-2, 2, x.shape[1], dtype=F32)
    expected = np.array([literal_rms_norm(row, weight, F32(eps)) for row in x], F32)
    assert same_bits(rms_norm(x, weight, eps, SCALAR), expected)


def test_rms_norm_against_float64(
    profile: EvaluationProfile,
    arithmetic: Arithmetic,
    close: Callable[[Array, Array, int, Array], None],
) -> None:
    rng = np.random.default_rng(1)
    x, weight = rng.standard_normal((7, 100)).astype(F32), rng.standard_normal(100).astype(F32)
    wide = x.astype(np.float64)
    root = np.sqrt((wide * wide).mean(axis=1, keepdims=True) + np.float64(F32(1e-5)))
    exact = weight * (wide / root)
    got = rms_norm(x, weight, float(F32(1e-5)), arithmetic)
    close(got, exact, dot_depth(profile, 100) + 8, exact)


def test_layer_norm_against_float64(arithmetic: Arithmetic, profile: EvaluationProfile) -> None:
    rng = np.random.default_rng(2)
    x = rng.standard_normal((5, 64)).astype(F32)
    weight, bias = (rng.standard_normal(64).astype(F32) for _ in range(2))
    wide = x.astype(np.float64)
    centred = wide - wide.mean(axis=1, keepdims=True)
    spread = np.sqrt((centred * centred).mean(axis=1, keepdims=True) + 1e-5)
    exact = centred / spread * weight + bias
    # The mean errs by gamma times mean|x|; that shift is divided by the spread like the rest.
    size = (np.abs(wide) + np.abs(wide).mean(axis=1, keepdims=True)) / spread
    bound = gamma(profile, 2 * dot_depth(profile, 64) + 12) * (size * np.abs(weight) + np.abs(bias))
    got = layer_norm(x, weight, bias, 1e-5, arithmetic)
    assert (np.abs(got - exact) <= bound).all()


def test_layer_norm_of_a_constant_row_is_the_bias(arithmetic: Arithmetic) -> None:
    y = layer_norm(np.full((1, 4), 3.0), np.ones(4), np.arange(4.0), 1e-5, arithmetic)
    assert y.tolist() == [[0, 1, 2, 3]]


def test_a_zero_row_stays_zero(arithmetic: Arithmetic) -> None:
    assert rms_norm(np.zeros((2, 8)), np.ones(8), 1e-5, arithmetic).tolist() == [[0] * 8] * 2


def test_nan_stays_in_its_row(arithmetic: Arithmetic) -> None:
    x = np.ones((2, 4))
    x[1, 2] = np.nan
    y = rms_norm(x, np.ones(4), 1e-5, arithmetic)
    assert np.isfinite(y[0]).all()
    assert np.isnan(y[1]).all()


@pytest.mark.parametrize("weight", [np.ones(3), np.ones((1, 4)), np.float32(1)])
def test_a_weight_of_another_shape_is_refused(weight: Array) -> None:
    with pytest.raises(ShapeMismatchError, match="weight has the shape"):
        rms_norm(np.zeros((2, 4)), weight, 1e-5, SCALAR)
    with pytest.raises(ShapeMismatchError, match="weight has the shape"):
        layer_norm(np.zeros((2, 4)), weight, np.zeros(4), 1e-5, SCALAR)


def test_a_bias_of_another_shape_is_refused() -> None:
    with pytest.raises(ShapeMismatchError, match="bias has the shape"):
        layer_norm(np.zeros((2, 4)), np.ones(4), np.zeros(5), 1e-5, SCALAR)
