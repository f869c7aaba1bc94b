"""Gram matrices of a model's own activations, and one model under several sets of weights."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from trlm_lab.base.model_parts import EMBEDDING, HEAD
from trlm_lab.errors import OracleModelError
from trlm_lab.oracle.calibration import calibration_grams
from trlm_lab.oracle.weight_swap import SwappedWeights

SEQUENCES = [[1, 5, 9, 3], [2, 4, 4, 8, 6]]
Q, K, GATE = (
    f"model.layers.0.{part}.weight"
    for part in ("self_attn.q_proj", "self_attn.k_proj", "mlp.gate_proj")
)


def test_the_gram_matrix_is_that_of_the_inputs(tiny_models: Callable[[str], Path]) -> None:
    """Of the head, whose inputs the model itself gives out: its last hidden states."""
    import torch

    from trlm_lab.oracle.loading import load_model
    from trlm_lab.oracle.settings import pinned_thread

    root = tiny_models("llama")
    grams = calibration_grams(root, SEQUENCES)
    model = load_model(root)
    name = EMBEDDING if model.config.tie_word_embeddings else HEAD
    wanted = np.zeros_like(grams[name])
    for ids in SEQUENCES:
        with pinned_thread(1):
            hidden = model.model(torch.tensor([ids])).last_hidden_state[0].double().numpy()
        wanted += np.einsum("ti,tj->ij", hidden, hidden)
    assert np.allclose(grams[name], wanted, rtol=1e-13, atol=1e-13)
    assert np.array_equal(grams[Q], grams[K])
    assert not np.array_equal(grams[Q], grams[GATE])
    assert all(np.array_equal(g, g.T) for g in grams.values())


@pytest.mark.parametrize("family", ["gpt2", "phi3", "gemma3", "qwen2"])
def test_every_matrix_of_a_family_has_one(tiny_models: Callable[[str], Path], family: str) -> None:
    from trlm_lab.base.model_parts import model_tensors
    from trlm_lab.oracle import source_defaults
    from trlm_lab.oracle.defaults import effective_config

    root = tiny_models(family)
    config = effective_config(source_defaults(root))
    grams = calibration_grams(root, SEQUENCES)
    for tensor in model_tensors(config):
        if len(tensor.shape) == 2 and "embed" not in tensor.name and tensor.name != HEAD:
            assert grams[tensor.name].shape == (tensor.shape[1],) * 2, tensor.name


def test_one_and_two_threads_give_the_same_bits(tiny_models: Callable[[str], Path]) -> None:
    import torch

    before, found = torch.get_num_threads(), []
    try:
        for threads in (1, 2):
            torch.set_num_threads(threads)
            found.append(calibration_grams(tiny_models("llama"), [list(range(1, 50))] * 2))
            assert torch.get_num_threads() == threads
    finally:
        torch.set_num_threads(before)
    one, two = found
    assert list(one) == list(two)
    assert all(np.array_equal(one[name], two[name]) for name in one)


def test_weights_are_swapped_and_put_back(tiny_models: Callable[[str], Path]) -> None:
    engine = SwappedWeights(tiny_models("llama"))
    plain = engine.logits({}, SEQUENCES)
    matrices = engine.matrices()
    assert Q in matrices
    other = engine.logits({Q: matrices[Q] * 2}, SEQUENCES)
    again = engine.logits({}, SEQUENCES)
    same = engine.logits(matrices, SEQUENCES)
    for a, b, c, d in zip(plain, other, again, same, strict=True):
        assert not np.array_equal(a, b)
        assert np.array_equal(a, c)
        assert np.array_equal(a, d)
    with pytest.raises(OracleModelError, match="no nothing"):
        engine.logits({"nothing": matrices[Q]}, SEQUENCES)
    with pytest.raises(OracleModelError, match=r"no .*q_proj"):
        engine.logits({Q: matrices[Q][1:]}, SEQUENCES)
