"""The reference engine: what comes out, its order and shapes, and its memory."""

from typing import Any

import numpy as np
import pytest

from tests.backends.reference_model import (
    CASE,
    CONFIG,
    F32,
    assert_same,
    observed,
    session,
)
from tests.ladders import llama_ladder
from trlm_lab.backends.profiles import REFERENCE_PROFILES
from trlm_lab.backends.reference import ReferenceRunner, code_sha256
from trlm_lab.base import canon
from trlm_lab.base.bits import same_bits
from trlm_lab.base.interfaces import Runner, Session, Subject
from trlm_lab.base.names import parse_checkpoint
from trlm_lab.base.records import Case


def test_it_is_a_runner_with_sessions() -> None:
    runner = ReferenceRunner()
    assert isinstance(runner, Runner)
    assert isinstance(session(), Session)
    assert runner.availability().available
    with session() as opened:
        identity = opened.identity
    assert (identity.name, identity.profile) == ("reference", "scalar-f32-v1")
    assert identity.build_sha256 == code_sha256()
    canon.encode(identity.to_map())


@pytest.mark.parametrize("profile", REFERENCE_PROFILES)
def test_every_checkpoint_in_ladder_order_with_its_shape(profile: str) -> None:
    seen = observed(session(profile).run(CASE))
    ladder = llama_ladder(CONFIG.num_hidden_layers)
    assert list(seen) == ["token_ids", *ladder, "logits.topk_ids", "logits.topk_values"]
    letters = {"T": 5, "S": 5, "D": 36, "H": 6, "K": 2, "E": 10, "F": 90, "V": 67, "HE": 60,
               "KE": 20}  # fmt: skip
    for name in ladder:
        assert seen[name].dtype == F32
        assert seen[name].shape == tuple(letters[a] for a in parse_checkpoint(name).axes), name
        assert np.isfinite(seen[name]).all()
    assert seen["token_ids"].tolist() == list(CASE.token_ids)
    assert seen["logits.topk_ids"].shape == (5, 64)


def test_masked_scores_and_probabilities_have_their_sentinels() -> None:
    seen = observed(session().run(CASE))
    hidden = np.broadcast_to(np.triu(np.ones((5, 5), bool), 1), (6, 5, 5))
    masked, probs = seen["layers.1.attn_masked"], seen["layers.1.attn_probs"]
    assert (masked[hidden] == np.finfo(F32).min).all()
    assert same_bits(masked[~hidden], seen["layers.1.attn_scores"][~hidden])
    assert probs[hidden].tobytes() == bytes(4 * int(hidden.sum()))
    assert (seen["layers.1.attn_scores"][hidden] != np.finfo(F32).min).all()


def test_top_k_is_of_the_logits() -> None:
    seen = observed(session().run(CASE))
    ids, values = seen["logits.topk_ids"], seen["logits.topk_values"]
    assert same_bits(np.take_along_axis(seen["logits"], ids, axis=1), values)
    assert ids[:, 0].tolist() == seen["logits"].argmax(axis=1).tolist()


def test_observed_arrays_belong_to_the_receiver() -> None:
    sound, spoilt = observed(session().run(CASE)), {}
    for seen in session().run(CASE):
        spoilt[seen.name] = seen.values.copy()
        seen.values[...] = 0
    assert_same(sound, spoilt)


@pytest.mark.model
@pytest.mark.slow
@pytest.mark.parametrize("quant", ["f32", "q8_r128"])
def test_the_real_model_runs_in_bounded_memory(
    quant: str, smollm2_artifacts: dict[str, Any]
) -> None:
    """Thirty-two tokens through all thirty layers hold well under the size of the weights."""
    import tracemalloc

    subject = Subject(artifact=smollm2_artifacts[quant].artifact.path)
    tracemalloc.start()
    try:
        with ReferenceRunner().open(subject) as opened:
            for _ in opened.run(Case("real", tuple(range(100, 132)))):
                pass
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 300 << 20
