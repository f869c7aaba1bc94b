"""The shipped profiles: complete, hashed, and refused when they say something not implemented."""

from typing import Any

import numpy as np
import pytest

from tests.ops.bounds import dot_depth, gamma
from trlm_lab.backends.profiles import REFERENCE_PROFILES, evaluation_profile
from trlm_lab.base import canon
from trlm_lab.errors import RecordError, UnknownNameError
from trlm_lab.ops.evaluation_profile import FIELDS, EvaluationProfile

#: A change of a profile is a new version; this table is where it must be owned up to.
PROFILE_IDS = {
    "scalar-f32-v1": "981b1e600288f25027b0c11e91ed4dbb0d58182047c155f8d004a2fc99724675",
    "lanes16-f32-v1": "0bbbb341303b610431d30c02d3221df42d4912c91d1e256354a559325e535e46",
    "f64-reference": "eefa450bc7e52c216f36f6a0d99c2c2237e24323105fd7b8ec650085a7d5f36e",
}


@pytest.mark.parametrize("name", REFERENCE_PROFILES)
def test_every_profile_is_pinned_by_its_hash(name: str) -> None:
    profile = evaluation_profile(name)
    assert profile.name == name
    assert profile.profile_id == canon.content_id(profile.fields)
    assert profile.profile_id == PROFILE_IDS[name]


def test_what_the_operators_take_from_a_profile() -> None:
    lanes = {name: evaluation_profile(name).arithmetic().lanes for name in REFERENCE_PROFILES}
    assert lanes == {"scalar-f32-v1": 1, "lanes16-f32-v1": 16, "f64-reference": None}
    wide = evaluation_profile("f64-reference")
    assert wide.arithmetic(threads=2).dtype == np.float64
    assert wide.arithmetic(threads=2).threads == 2
    assert not wide.bit_reproducible


def test_bounds_of_a_dot_product() -> None:
    scalar, lanes = evaluation_profile("scalar-f32-v1"), evaluation_profile("lanes16-f32-v1")
    assert (dot_depth(scalar, 576), dot_depth(lanes, 576), dot_depth(lanes, 17)) == (576, 40, 6)
    assert gamma(scalar, 1) == 2.0**-24 / (1 - 2.0**-24)
    assert gamma(evaluation_profile("f64-reference"), 10) < 1.2e-15


def test_an_unknown_profile_is_a_usage_error() -> None:
    with pytest.raises(UnknownNameError, match="scalar-f32-v1"):
        evaluation_profile("scalar-f32-v2")


@pytest.mark.parametrize("name", ["schema", *list(FIELDS)[1:4], "permitted_error"])
def test_a_missing_field_is_refused(name: str) -> None:
    fields = dict(evaluation_profile("scalar-f32-v1").fields)
    del fields[name]
    with pytest.raises(RecordError):
        EvaluationProfile(fields)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("schema", "trlm.evaluation_profile.v2"),
        ("version", "1"),
        ("accumulation_dtype", "float16"),
        ("intermediate_dtype", "float64"),
        ("accumulation", {"lanes": 8}),
        ("accumulation", {"lanes": True}),
        ("bit_reproducible", "yes"),
    ],
)
def test_a_wrong_field_is_refused(name: str, value: Any) -> None:
    with pytest.raises(RecordError):
        EvaluationProfile({**evaluation_profile("scalar-f32-v1").fields, name: value})
    with pytest.raises(RecordError):
        EvaluationProfile({**evaluation_profile("scalar-f32-v1").fields, "surplus": 1})
