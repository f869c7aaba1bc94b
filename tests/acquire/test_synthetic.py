"""The synthetic models have the same bytes everywhere, and weights of a sensible size."""

import re

import numpy as np
import pytest

from trlm_lab.acquire import acquire
from trlm_lab.acquire.synthetic import MODELS, uniform
from trlm_lab.acquire.synthetic_families import TINY
from trlm_lab.base import strict_json
from trlm_lab.base.safetensors_header import map_tensor, read_header
from trlm_lab.errors import UnknownNameError

#: A change of these bytes is a new model: raise GENERATOR_VERSION with it.
WEIGHTS_SHA256 = "06ea94ec02e21748966555412f084bf8f91ccd9b5ddc0ece00baf329bc045a19"


def test_the_weights_are_these_bytes() -> None:
    file = acquire("synthetic:llama-small").file("model.safetensors")
    assert file is not None
    assert file.sha256 == WEIGHTS_SHA256


def test_shapes_and_sizes() -> None:
    snapshot = acquire("synthetic:llama-small")
    path = snapshot.root / "model.safetensors"
    tensors = {t.name: map_tensor(path, t) for t in read_header(path)}
    assert tensors["model.embed_tokens.weight"].shape == (512, 96)
    assert tensors["model.layers.3.self_attn.k_proj.weight"].shape == (32, 96)
    assert len(tensors) == 2 + 4 * 9
    norm = tensors["model.layers.0.input_layernorm.weight"]
    assert np.abs(norm - 1).max() <= 0.25
    assert np.unique(norm).size > 90
    down = tensors["model.layers.0.mlp.down_proj.weight"]
    bound = np.sqrt(np.float32(3) / 256)
    assert bound * 0.9 < np.abs(down).max() <= bound * 1.0001
    config = strict_json.load_object(snapshot.root / "config.json")
    assert config["num_attention_heads"] // config["num_key_value_heads"] == 3


def test_no_two_tensors_share_their_numbers() -> None:
    rows = acquire("synthetic:llama-small").provenance["tensors"]
    assert len({row["sha256"] for row in rows}) == len(rows)


def test_uniform_values_are_exact_multiples() -> None:
    values = uniform(1, 2, 10_000).astype(np.float64) * 2**23
    assert np.array_equal(values, np.round(values))
    assert values.min() >= -(2**23)
    assert values.max() < 2**23
    assert uniform(1, 2, 3).tolist() == uniform(1, 2, 5).tolist()[:3]
    assert uniform(1, 3, 3).tolist() != uniform(1, 2, 3).tolist()


def test_an_unknown_model_is_named() -> None:
    with pytest.raises(
        UnknownNameError, match=re.escape("'llama-large' is unknown; known: llama-small, ")
    ):
        acquire("synthetic:llama-large")


def test_provenance_says_that_it_is_synthetic() -> None:
    provenance = acquire("synthetic:llama-small").provenance
    assert provenance["synthetic"]["name"] == "llama-small"
    assert provenance["weights_on_quantized_grid"] == ""


#: As above, of the tiny models.
TINY_SHA256 = {
    "llama-tiny": "9824f12839ca25d0652dc492ba82ff5f7e6818113581890c191357c7706e5534",
    "mistral-tiny": "46e11253e8029e504557381c94eb519e7aa1f71e8732f98660158e24df33edac",
    "qwen2-tiny": "4354fe13fcf5f1bdb4218171cdfd99f6262b973aa59e2d47214481d98afe26b2",
    "qwen3-tiny": "6adfcffdd3f8e8070ecae9d122aee24dacae5730ba7d7d027f6948c1d84f14e1",
    "gemma2-tiny": "1caeb30b837435922605aba504e1cfba4bb415f2a4576cc91e46ba6c0e35c985",
    "gemma3-tiny": "15074fd15e9c0770aae02f76d710908bb33a4692cfc0bfa2c87bbbafe9784153",
    "gpt2-tiny": "a9c2c66eb6d7d46fe3a7210445349fbd8d06cdca6ac192b544b3076fe525e323",
    "olmo2-tiny": "b259fc0b92aec123e29220efc47ebdde523624562fe13da0329b56cd1888e255",
    "phi3-tiny": "ce20cbe8bc95ab85ce808a01689580b8f5a685a7077a72ea172e7d611c078cfb",
}


@pytest.mark.parametrize("name", TINY)
def test_the_weights_of_a_family_are_these_bytes(name: str) -> None:
    snapshot = acquire(f"synthetic:{name}")
    file = snapshot.file("model.safetensors")
    assert file is not None
    assert file.sha256 == TINY_SHA256[name]
    config = strict_json.load_object(snapshot.root / "config.json")
    assert config["model_type"].removesuffix("_text") == name.removesuffix("-tiny")


def test_tiny_models_have_what_makes_their_family_differ() -> None:
    root = acquire("synthetic:gpt2-tiny").root / "model.safetensors"
    header = {t.name: map_tensor(root, t) for t in read_header(root)}
    # Stored (in, out), queries, keys and values joined.
    assert header["transformer.h.0.attn.c_attn.weight"].shape == (48, 144)
    assert "lm_head.weight" not in header
    root = acquire("synthetic:gemma3-tiny").root / "model.safetensors"
    header = {t.name: map_tensor(root, t) for t in read_header(root)}
    norm = header["model.layers.0.input_layernorm.weight"]
    assert 0.3 < np.abs(norm).max() <= 0.4


def test_the_facts_of_a_model_are_in_the_key_of_its_snapshot() -> None:
    assert MODELS["llama-small"].facts()["seed"] == 20260801
    facts = [model.facts() for model in TINY.values()]
    assert len({str(one) for one in facts}) == len(TINY) == 9
