"""Hooks mean what they say: every checkpoint follows from those before it, in all nine families."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest

from tests.oracle.operator_weights import operator_weights
from tests.oracle.recomputation import Arrays, Recomputation
from tests.tiny_models import FAMILIES, write_tiny
from trlm_lab.base.interfaces import Subject
from trlm_lab.base.model_parts import ladder_of
from trlm_lab.base.records import Case, EffectiveConfig
from trlm_lab.oracle import TorchRunner, effective_config, source_defaults

#: Longer than every window; the ids are spread over the vocabulary.
CASE = Case("c", tuple(5 + 7 * i % 89 for i in range(13)))


@dataclass(frozen=True)
class Captured:
    """One case in one model."""

    config: EffectiveConfig
    arrays: Arrays
    weights: Arrays

    def excess(self, name: str) -> float:
        return Recomputation(self.config, self.arrays, self.weights).excess(name)


@pytest.fixture(scope="module", params=FAMILIES)
def captured_model(request: pytest.FixtureRequest, tiny_models: Callable[[str], Path]) -> Captured:
    return _capture(tiny_models(request.param))


def _capture(path: Path) -> Captured:
    config = effective_config(source_defaults(path))
    with TorchRunner().open(Subject(model_dir=path)) as session:
        arrays = {o.name: o.values for o in session.run(CASE)}
    return Captured(config, arrays, operator_weights(path, config))


def test_every_checkpoint_follows_from_those_before_it(captured_model: Captured) -> None:
    ladder = ladder_of(captured_model.config)
    assert list(captured_model.arrays)[1:-2] == ladder
    assert {name: e for name in ladder if (e := captured_model.excess(name)) > 1} == {}


def test_a_wrong_checkpoint_would_be_seen(captured_model: Captured) -> None:
    """Two neighbours swapped along the last axis, which no formula forgives."""
    unseen = []
    for name in ladder_of(captured_model.config):
        wrong = captured_model.arrays[name].copy()
        wrong[..., :2] = wrong[..., 1::-1]
        arrays = {**captured_model.arrays, name: wrong}
        if replace(captured_model, arrays=arrays).excess(name) <= 1:
            unseen.append(name)
    assert unseen == []


#: Settings that a family allows and its tiny model does not have.
VARIANTS = {
    "llama-yarn": ("llama", {"rope_parameters": {
        "rope_type": "yarn", "rope_theta": 1e4, "factor": 4.0,
        "original_max_position_embeddings": 16}}),
    "llama-llama3": ("llama", {"rope_parameters": {
        "rope_type": "llama3", "rope_theta": 1e4, "factor": 8.0, "low_freq_factor": 1.0,
        "high_freq_factor": 4.0, "original_max_position_embeddings": 16}}),
    "llama-biases": ("llama", {"attention_bias": True, "mlp_bias": True}),
    "llama-gelu": ("llama", {"hidden_act": "gelu"}),
    "mistral-full": ("mistral", {"sliding_window": None}),
    "gemma2-no-caps": ("gemma2", {"attn_logit_softcapping": None,
                                  "final_logit_softcapping": None}),
    "gemma3-cap": ("gemma3", {"attn_logit_softcapping": 2.0, "final_logit_softcapping": 3.0}),
    "gemma3-sliding": ("gemma3", {"num_hidden_layers": 2}),
    "olmo2-biases": ("olmo2", {"attention_bias": True, "num_key_value_heads": 4}),
}  # fmt: skip


@pytest.mark.parametrize("name", VARIANTS)
def test_variants_follow_too(tmp_path: Path, name: str) -> None:
    family, changes = VARIANTS[name]
    found = _capture(write_tiny(family, tmp_path, **changes))
    excess = {name: found.excess(name) for name in ladder_of(found.config)}
    assert {name: value for name, value in excess.items() if value > 1} == {}


@pytest.mark.parametrize(
    ("family", "field", "value", "first"),
    [
        ("gemma2", "attn_logit_softcapping", None, "layers.0.attn_scores"),
        ("gemma2", "final_logit_softcapping", None, "logits"),
        ("gemma2", "embedding_scale", 1.0, "embedding"),
        ("gemma3", "norm_unit_offset", False, "layers.0.attn_norm"),
        ("gemma3", "rope_local_inv_freq", (), "layers.0.q_rope"),
        ("gpt2", "hidden_act", "gelu_erf", "layers.0.mlp_act"),
        ("mistral", "sliding_window", 6, "layers.0.attn_masked"),
        ("olmo2", "rms_norm_eps", 2.0**-13, "layers.0.q_norm"),
        ("phi3", "rope_inv_freq", (1.0,) * 6, "layers.0.q_rope"),
        ("qwen2", "attention_scale", 0.5, "layers.0.attn_scores"),
    ],
)
def test_a_wrong_field_would_be_seen(
    tiny_models: Callable[[str], Path], family: str, field: str, value: object, first: str
) -> None:
    """The configuration with one field wrong explains the capture no longer, from there on."""
    sound = _capture(tiny_models(family))
    changes = {field: value}
    if field == "rope_local_inv_freq":
        changes["rope_local_base_freq"] = None
    wrong = replace(sound, config=replace(sound.config, **changes))
    excess = {name: wrong.excess(name) for name in ladder_of(sound.config)}
    assert next(name for name, value in excess.items() if not value <= 1) == first
    assert np.isfinite(list(excess.values())).all()
