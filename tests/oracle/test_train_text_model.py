"""The script that trains the model of the quantization figures: deterministic, and measured."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from trlm_lab.oracle.loading import quiet_framework

SCRIPT = Path(__file__).parents[2] / "tools" / "train_text_model.py"


@pytest.fixture(scope="module")
def script() -> Any:
    with quiet_framework():
        spec = importlib.util.spec_from_file_location("train_text_model", SCRIPT)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[spec.name] = module
        spec.loader.exec_module(module)
    return module


def tiny(script: Any) -> Any:
    return script.Recipe(
        vocab=260, hidden=32, layers=1, heads=2, kv_heads=1, ffn=64, context=8, batch=2, steps=3,
        warmup=1,
    )  # fmt: skip


def test_the_same_recipe_gives_the_same_weights(script: Any) -> None:
    recipe = tiny(script)
    tokenizer = script.train_tokenizer(["abc abd abe"] * 3, recipe)
    ids = script.stream_of(tokenizer, ["abc abd", "abe abc abd abe abc"])
    assert np.count_nonzero(ids == tokenizer.token_to_id("<s>")) == 2
    found = []
    for _ in range(2):
        model = script.model_of(recipe)
        before = model.lm_head.weight.detach().numpy().copy()
        script.train(model, ids, recipe)
        found.append(model.lm_head.weight.detach().numpy().copy())
        assert not np.array_equal(before, found[-1])
    assert np.array_equal(*found)


def test_the_unigram_has_one_count_more_of_every_id(script: Any) -> None:
    train, held = np.array([0, 0, 1]), np.array([0, 1, 2])
    wanted = (3 / 6 * 2 / 6 * 1 / 6) ** (-1 / 3)
    assert np.isclose(script.unigram_perplexity(train, held, 3), wanted)


def test_an_even_model_has_the_perplexity_of_its_vocabulary(script: Any) -> None:
    recipe = tiny(script)
    model = script.model_of(recipe).eval()
    for weight in model.parameters():
        weight.data.zero_()
    assert np.isclose(script.perplexity(model, np.arange(30), recipe), recipe.vocab)


def test_the_rate_rises_and_falls(script: Any) -> None:
    recipe = script.Recipe()
    rates = [script.rate_at(step, recipe) for step in range(recipe.steps)]
    assert rates[recipe.warmup - 1] == recipe.rate == max(rates)
    assert rates[-1] < 0.06 * recipe.rate
    assert rates == sorted(rates[: recipe.warmup]) + sorted(rates[recipe.warmup :], reverse=True)
