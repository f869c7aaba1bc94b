"""Profiles of the operator tests, and how close to the exact value each must come."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import settings

from tests.ops.bounds import gamma
from trlm_lab.backends.profiles import REFERENCE_PROFILES, evaluation_profile
from trlm_lab.ops.arithmetic import Arithmetic, Array
from trlm_lab.ops.evaluation_profile import EvaluationProfile

# A busy machine must not fail a property.
settings.register_profile("steady", deadline=None)
settings.load_profile("steady")


@pytest.fixture(params=REFERENCE_PROFILES)
def profile(request: pytest.FixtureRequest) -> EvaluationProfile:
    """Every profile of the reference engine in turn."""
    return evaluation_profile(request.param)


@pytest.fixture
def arithmetic(profile: EvaluationProfile) -> Arithmetic:
    return profile.arithmetic()


@pytest.fixture(scope="session")
def scalar() -> Arithmetic:
    return evaluation_profile("scalar-f32-v1").arithmetic()


@pytest.fixture(scope="session")
def lanes16() -> Arithmetic:
    return evaluation_profile("lanes16-f32-v1").arithmetic()


@pytest.fixture(scope="session")
def f64() -> Arithmetic:
    return evaluation_profile("f64-reference").arithmetic()


@pytest.fixture
def close(profile: EvaluationProfile) -> Callable[[Array, Array, int, Array | float], None]:
    """Assert |got - exact| <= gamma(roundings) * scale, the profile's own sourced bound.

    `roundings` counts the rounded operations in a row, inputs included; `scale` is what they are
    relative to: the value itself, or the sum of |terms| where terms may cancel.
    """

    def check(got: Array, exact: Array, roundings: int, scale: Array | float) -> None:
        error = np.abs(np.asarray(got, np.float64) - np.asarray(exact, np.float64))
        bound = gamma(profile, roundings) * np.abs(np.asarray(scale, np.float64))
        assert np.asarray(got).shape == np.asarray(exact).shape
        assert (error <= bound).all(), f"error {error.max()} beyond {bound.max()}"

    return check
