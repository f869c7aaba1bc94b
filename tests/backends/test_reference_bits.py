"""The reference engine against the whole model in literal loops over single numbers."""

import numpy as np
import pytest

from tests.backends.literal_model import LiteralModel
from tests.backends.reference_model import (
    CASE,
    EXACT,
    F32,
    MODEL,
    assert_same,
    family_model,
    observed,
    session,
)
from tests.backends.tiny_families import FAMILIES
from trlm_lab.backends.model_files import OpenModel
from trlm_lab.backends.profiles import REFERENCE_PROFILES
from trlm_lab.backends.reference import ReferenceRunner
from trlm_lab.base.bits import same_bits
from trlm_lab.base.names import is_checkpoint
from trlm_lab.ops import elementary

LANES = {"scalar-f32-v1": 1, "lanes16-f32-v1": 16}


def assert_literal(model: OpenModel, profile: str) -> None:
    expected = LiteralModel(model.config, dict(model.tensors), CASE, LANES[profile]).forward()
    got = observed(ReferenceRunner(profile).start(model).run(CASE))
    assert list(expected) == [n for n in got if is_checkpoint(n)]
    assert [n for n in expected if not same_bits(got[n], expected[n])] == []


@pytest.mark.parametrize("profile", LANES)
def test_every_checkpoint_has_the_bits_of_the_literal_loops(profile: str) -> None:
    assert_literal(MODEL, profile)


@pytest.mark.parametrize("family", FAMILIES[1:])
def test_and_so_in_every_family(family: str) -> None:
    assert_literal(family_model(family), "lanes16-f32-v1")


def test_the_other_gelu_in_a_plain_mlp() -> None:
    assert_literal(family_model("gpt2", hidden_act="gelu_erf"), "scalar-f32-v1")


def test_profiles_differ_in_bits_and_hardly_in_value() -> None:
    scalar, lanes, wide = (observed(session(p).run(CASE))["logits"] for p in REFERENCE_PROFILES)
    assert not same_bits(scalar, lanes)
    assert not same_bits(scalar, wide)
    order = [np.argsort(logits, axis=1)[:, -3:].tolist() for logits in (scalar, lanes, wide)]
    assert order[0] == order[1] == order[2]


@pytest.mark.parametrize("profile", EXACT)
def test_threads_change_no_bit(profile: str) -> None:
    threaded = ReferenceRunner(profile, threads=2).start(MODEL)
    assert_same(observed(session(profile).run(CASE)), observed(threaded.run(CASE)))


def test_an_exp_that_is_off_by_one_ulp_changes_the_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    sound = observed(session().run(CASE))
    exact = elementary.exp
    monkeypatch.setattr(elementary, "exp", lambda x: np.nextafter(exact(x), F32(np.inf)))
    off = observed(session().run(CASE))
    changed = [n for n in sound if not same_bits(sound[n], off[n])]
    assert changed[0] == "layers.0.attn_probs"
    assert "logits" in changed
