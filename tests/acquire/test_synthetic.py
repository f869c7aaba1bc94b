"""The synthetic model has the same bytes everywhere, and weights of a sensible size."""

import numpy as np
import pytest

from trlm_lab.acquire import acquire
from trlm_lab.acquire.synthetic import uniform
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
    with pytest.raises(UnknownNameError, match="'llama-large' is unknown; known: llama-small"):
        acquire("synthetic:llama-large")


def test_provenance_says_that_it_is_synthetic() -> None:
    provenance = acquire("synthetic:llama-small").provenance
    assert provenance["synthetic"]["name"] == "llama-small"
    assert provenance["weights_on_quantized_grid"] == ""
