"""The table of readers against what a change really reaches."""

import numpy as np
import pytest

from tests.ladders import llama_ladder
from trlm_lab.base.names import LAYER_CHECKPOINTS
from trlm_lab.base.records import Case
from trlm_lab.bisection.dataflow import READERS, depends, last_proof

CASE = Case("c", (3, 1, 4))


def visible_change(values: np.ndarray) -> np.ndarray:
    """Change the first element, which every mask lets through, and all others of the last row."""
    values = values.copy()
    values[..., -1, :] += np.linspace(1, 2, values.shape[-1], dtype=values.dtype)
    return values


@pytest.mark.parametrize("op", LAYER_CHECKPOINTS)
def test_a_change_reaches_exactly_the_dependants(tiny, op):
    planted = f"layers.1.{op}"
    sound = dict(tiny(layers=3).run(CASE))
    moved = dict(tiny(layers=3, changes={planted: visible_change}).run(CASE))
    reached = {n for n in sound if not np.array_equal(sound[n], moved[n])}
    assert reached == {planted} | {n for n in sound if depends(n, planted)}


def test_every_operator_of_the_ladder_has_its_readers():
    assert set(READERS) == set(LAYER_CHECKPOINTS)


def test_nothing_depends_on_what_comes_later():
    names = llama_ladder(2)
    assert not any(depends(a, b) for i, a in enumerate(names) for b in names[i:])


def test_a_sibling_proves_nothing_about_a_hidden_checkpoint():
    sound = ["layers.0.input", "layers.0.v_proj", "layers.0.k_rope"]
    assert last_proof(sound, ["layers.0.q_rope"], "layers.0.attn_scores") == "layers.0.v_proj"
    assert last_proof(sound, [], "layers.0.attn_scores") == "layers.0.k_rope"


def test_a_dependant_proves_the_hidden_checkpoint_sound():
    sound = ["layers.0.input", "layers.0.attn_scores"]
    hidden = ["layers.0.q_rope", "layers.0.k_rope"]
    assert last_proof(sound, hidden, "layers.0.attn_probs") == "layers.0.attn_scores"


def test_without_any_proof_there_is_none():
    assert last_proof([], ["embedding"], "logits") is None
    assert last_proof(["layers.0.k_proj"], ["layers.0.q_proj"], "layers.0.q_rope") is None
