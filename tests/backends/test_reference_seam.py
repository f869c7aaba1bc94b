"""The seam of the reference engine: operators, checkpoints and weights replaced."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tests.backends.reference_model import (
    CASE,
    F32,
    observed,
    session,
)
from trlm_lab.backends.operators import Operators
from trlm_lab.backends.profiles import REFERENCE_PROFILES
from trlm_lab.backends.reference import Plant
from trlm_lab.backends.weights import Weights
from trlm_lab.base.bits import same_bits
from trlm_lab.ops.arithmetic import Array
from trlm_lab.ops.matmul import RowBlocks


def changed_by(plant: Plant, profile: str = "scalar-f32-v1") -> list[str]:
    sound = observed(session(profile).run(CASE))
    planted = observed(session(profile, plant).run(CASE))
    assert list(sound) == list(planted)
    return [n for n in sound if not same_bits(sound[n], planted[n])]


def with_operator(layer: int | None, **fields: Any) -> Plant:
    def choose(at: int | None, sound: Operators) -> Operators:
        return replace(sound, **fields) if at == layer else sound

    return Plant(operators=choose)


def test_an_operator_of_one_layer_can_be_replaced() -> None:
    changed = changed_by(with_operator(1, gate=lambda gate, up: gate * up))
    assert changed[0] == "layers.1.mlp_act"
    assert "layers.1.up_proj" not in changed
    assert changed_by(with_operator(None, residual=None)) == []


def test_the_operators_outside_the_layers_are_layer_none() -> None:
    skipped = with_operator(None, rms_norm=lambda name, x, weight, eps: x)
    assert changed_by(skipped)[0] == "final_norm"


@pytest.mark.parametrize("name", ["layers.0.attn_norm", "layers.1.attn_values", "logits"])
@pytest.mark.parametrize("profile", REFERENCE_PROFILES)
def test_a_perturbed_checkpoint_flows_on(name: str, profile: str) -> None:
    def perturb(at: str, values: Array) -> Array:
        return values + values.dtype.type(1) if at == name else values

    changed = changed_by(Plant(perturb=perturb), profile)
    assert changed[0] == name
    assert changed[-1] == "logits.topk_values"


def test_a_planted_nan_is_yielded_in_one_spelling_and_reaches_the_logits() -> None:
    def perturb(at: str, values: Array) -> Array:
        if at != "layers.0.q_proj":
            return values
        values = values.copy()
        values[2, 7] = np.uint32(0xFFC00001).view(F32)
        return values

    planted = observed(session(plant=Plant(perturb=perturb)).run(CASE))
    assert np.argwhere(np.isnan(planted["layers.0.q_proj"])).tolist() == [[2, 7]]
    assert planted["layers.0.q_proj"].view(np.uint32)[2, 7] == 0x7FC00000
    assert np.isnan(planted["logits"][2:]).all()
    assert np.isfinite(planted["logits"][:2]).all()
    assert planted["logits"].view(np.uint32)[2, 0] == 0x7FC00000


def test_weights_can_be_wrapped() -> None:
    class Shifted:
        def __init__(self, sound: Weights) -> None:
            self.sound = sound

        def matrix(self, name: str) -> RowBlocks:
            rows = self.sound.matrix(name)
            return np.roll(rows[:], 1, axis=0) if name == "lm_head.weight" else rows

        def vector(self, name: str) -> Array:
            return self.sound.vector(name)

    assert changed_by(Plant(weights=Shifted))[0] == "logits"
