"""SiLU, both GELUs, the gate and the soft cap: literal float32 steps, true values, edges."""

from collections.abc import Callable

import mpmath
import numpy as np
import pytest

from tests.ops.bounds import gamma
from trlm_lab.base.bits import same_bits
from trlm_lab.ops import elementary
from trlm_lab.ops.arithmetic import Arithmetic, Array
from trlm_lab.ops.evaluation_profile import EvaluationProfile
from trlm_lab.ops.gated import ACTIVATIONS, gated
from trlm_lab.ops.gelu_erf import SQRT_HALF, gelu_erf
from trlm_lab.ops.gelu_tanh import CUBIC, SQRT_2_OVER_PI, gelu_tanh
from trlm_lab.ops.silu import silu
from trlm_lab.ops.softcap import softcap

F32 = np.float32
X = np.concatenate([np.linspace(-20, 20, 401), [0.0, -0.0, 1e-30, -1e-30, 60.0, -60.0]]).astype(F32)


def test_silu_is_its_two_literal_steps(scalar: Arithmetic) -> None:
    expected = X / (F32(1) + elementary.exp(-X))
    assert same_bits(silu(X, scalar), expected)


def test_gelu_tanh_is_its_literal_steps(scalar: Arithmetic) -> None:
    half, one, c, cubic = (F32(v) for v in (0.5, 1, SQRT_2_OVER_PI, CUBIC))
    inner = c * (X + cubic * ((X * X) * X))
    assert same_bits(gelu_tanh(X, scalar), (half * X) * (one + elementary.tanh(inner)))


def test_gelu_erf_is_its_literal_steps(scalar: Arithmetic) -> None:
    expected = (F32(0.5) * X) * (F32(1) + elementary.erf(X * F32(SQRT_HALF)))
    assert same_bits(gelu_erf(X, scalar), expected)


def test_softcap_is_its_literal_steps(scalar: Arithmetic) -> None:
    expected = F32(30) * elementary.tanh(X / F32(30))
    assert same_bits(softcap(X, 30.0, scalar), expected)


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_the_gate_rounds_its_activation_first(name: str, scalar: Arithmetic) -> None:
    up = np.linspace(-3, 3, len(X)).astype(F32)
    expected = (ACTIVATIONS[name](X, scalar) * up)[None]
    assert same_bits(gated(X[None], up[None], name, scalar), expected)


TRUE = {
    "silu": (silu, lambda x: x / (1 + mpmath.exp(-x)), 5.0),
    "gelu_tanh": (
        gelu_tanh,
        lambda x: x / 2 * (1 + mpmath.tanh(mpmath.mpf(SQRT_2_OVER_PI) * (x + CUBIC * x**3))),
        5.0,
    ),
    "gelu_erf": (gelu_erf, lambda x: x / 2 * (1 + mpmath.erf(x * mpmath.mpf(SQRT_HALF))), 5.0),
}


@pytest.mark.parametrize("name", TRUE)
def test_near_the_true_value(name: str, arithmetic: Arithmetic, profile: EvaluationProfile) -> None:
    """Within a dozen roundings of |x|: the sum 1 + tanh cancels for negative x, so not of y."""
    function, true_function, reach = TRUE[name]
    x = X[np.abs(X) <= reach]
    with mpmath.workdps(50):
        exact = np.array([float(true_function(mpmath.mpf(float(v)))) for v in x])
    # The argument of tanh or erf errs by a few roundings of itself; slope times it is below 1.
    assert (np.abs(function(x, arithmetic) - exact) <= gamma(profile, 12) * np.abs(x)).all()


@pytest.mark.parametrize("function", [silu, gelu_tanh, gelu_erf])
def test_far_out_they_are_the_identity_or_zero(
    function: Callable[[Array, Arithmetic], Array], arithmetic: Arithmetic
) -> None:
    y = function(np.array([200.0, -2000.0, 0.0, 1e30, -1e30]), arithmetic)
    assert y[0] == 200
    assert y[1] == 0
    assert y[2] == 0
    assert y[3] == arithmetic.dtype.type(1e30)
    assert y[4] == 0


@pytest.mark.parametrize("function", [silu, gelu_tanh, gelu_erf])
def test_nan_stays_nan(
    function: Callable[[Array, Arithmetic], Array], arithmetic: Arithmetic
) -> None:
    y = function(np.array([np.nan, 1.0]), arithmetic)
    assert np.isnan(y[0])
    assert np.isfinite(y[1])


def test_the_three_are_three_functions(arithmetic: Arithmetic) -> None:
    x = np.array([1.0, -1.0])
    values = [f(x, arithmetic) for f in (silu, gelu_tanh, gelu_erf)]
    assert np.abs(values[0] - values[1]).max() > 0.1
    assert 1e-5 < np.abs(values[1] - values[2]).max() < 1e-3
