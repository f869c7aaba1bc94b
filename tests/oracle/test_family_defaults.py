"""What each family implies comes out as values, with the line of the source that says so."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import transformers
from safetensors import safe_open

from tests.tiny_models import FAMILIES, write_tiny
from trlm_lab.base.records import SourceDefaults
from trlm_lab.base.source_tensors import source_tensors
from trlm_lab.errors import OracleModelError
from trlm_lab.oracle import effective_config, source_defaults

Tiny = Callable[[str], Path]

SLIDING, FULL = "sliding_attention", "full_attention"
#: Beside what a plain llama has.
IMPLIED: dict[str, dict[str, Any]] = {
    "llama": {},
    "mistral": {"layer_types": (SLIDING, SLIDING), "sliding_window": 5},
    "qwen2": {
        "attention_bias": True, "layer_types": (FULL, SLIDING, SLIDING), "sliding_window": 5,
    },
    "qwen3": {"qk_norm": "head", "layer_types": (FULL, SLIDING, SLIDING), "sliding_window": 5},
    "gemma2": {
        "norm_unit_offset": True, "norm_placement": "sandwich", "hidden_act": "gelu_tanh",
        "attn_logit_softcapping": 4.0, "final_logit_softcapping": 5.0, "sliding_window": 5,
        "layer_types": (SLIDING, FULL) * 2, "embedding_scale": float(np.float32(48**0.5)),
        "attention_scale": float(np.float32(24**-0.5)),
    },
    "gemma3": {
        "norm_unit_offset": True, "norm_placement": "sandwich", "hidden_act": "gelu_tanh",
        "qk_norm": "head", "sliding_window": 5, "layer_types": (SLIDING,) * 5 + (FULL,),
        "embedding_scale": float(np.float32(48**0.5)), "rope_local_base_freq": 1e4,
        "attention_scale": float(np.float32(24**-0.5)), "rope_theta": 1e6,
    },
    "gpt2": {
        "norm_placement": "pre", "rope_order": "none", "rope_theta": 0.0, "rope_inv_freq": (),
        "hidden_act": "gelu_tanh", "mlp_gated": False, "attention_bias": True,
        "attention_out_bias": True, "mlp_bias": True, "rms_norm_eps": None, "head_dim": 12,
        "layer_norm_epsilon": float(np.float32(1e-5)), "num_key_value_heads": 4,
        "attention_scale": float(np.float32(12**-0.5)),
    },
    "olmo2": {"norm_placement": "post", "qk_norm": "joined"},
    "phi3": {"layer_types": (SLIDING, SLIDING), "sliding_window": 5},
}  # fmt: skip
PLAIN: dict[str, Any] = {
    "norm_placement": "pre", "qk_norm": "none", "rope_order": "half_split", "head_dim": 16,
    "hidden_act": "silu", "mlp_gated": True, "attention_bias": False, "attention_out_bias": False,
    "mlp_bias": False, "embedding_scale": 1.0, "attn_logit_softcapping": None,
    "final_logit_softcapping": None, "sliding_window": None, "norm_unit_offset": False,
    "rms_norm_eps": float(np.float32(1e-5)), "layer_norm_epsilon": None, "rope_theta": 1e4,
    "rope_local_base_freq": None, "num_key_value_heads": 2, "attention_scale": 0.25,
    "num_attention_heads": 4, "hidden_size": 48, "intermediate_size": 80, "vocab_size": 97,
    "max_position_embeddings": 64, "bos_token_id": 1, "eos_token_id": (2,), "pad_token_id": 0,
}  # fmt: skip


@pytest.mark.parametrize("family", FAMILIES)
def test_what_a_family_implies(family: str, tiny_models: Tiny) -> None:
    config = effective_config(source_defaults(tiny_models(family))).to_map()
    wanted = {**PLAIN, **IMPLIED[family]}
    found = {name: config[name] for name in wanted}
    assert found == {k: list(v) if isinstance(v, tuple) else v for k, v in wanted.items()}


@pytest.mark.parametrize("family", FAMILIES)
def test_every_origin_is_a_line_of_the_familys_own_source(family: str, tiny_models: Tiny) -> None:
    found = source_defaults(tiny_models(family))
    base = Path(transformers.__file__).parents[1]
    place = re.compile(r"(transformers/models/([a-z0-9]+)/\S+\.py):(\d+) \(transformers 5")
    for default in found.values:
        if default.name == "unk_token_id" or default.name.startswith("generation."):
            continue
        match = place.search(default.origin)
        assert match, default
        assert match[2] == family
        line = (base / match[1]).read_text().splitlines()[int(match[3]) - 1]
        assert line.strip()
        assert not line.lstrip().startswith("#")


@pytest.mark.parametrize("family", FAMILIES)
def test_the_configuration_names_the_stored_tensors(family: str, tiny_models: Tiny) -> None:
    path = tiny_models(family)
    config = effective_config(source_defaults(path))
    wanted = {tensor.name: tensor.shape for tensor in source_tensors(config)}
    if config.tie_word_embeddings:
        del wanted["lm_head.weight"]
    with safe_open(path / "model.safetensors", "numpy") as file:
        stored = {name: tuple(file.get_slice(name).get_shape()) for name in file.keys()}  # noqa: SIM118
    assert stored == wanted


def test_partial_and_local_rotations_are_the_sources_own(tiny_models: Tiny) -> None:
    partial = source_defaults(tiny_models("phi3"))["rope_inv_freq"]
    assert np.allclose(partial, 1e4 ** -(np.arange(0, 12, 2) / 12), rtol=1e-6)
    gemma = source_defaults(tiny_models("gemma3"))
    assert np.allclose(gemma["rope_local_inv_freq"], 1e4 ** -(np.arange(0, 16, 2) / 16), rtol=1e-6)
    assert np.allclose(gemma["rope_inv_freq"], 1e6 ** -(np.arange(0, 16, 2) / 16) / 8, rtol=1e-6)


def _origin(found: SourceDefaults, name: str) -> str:
    return next(d.origin for d in found.values if d.name == name)


def test_gemma3_fills_in_the_local_base_and_the_pattern(tmp_path: Path, tiny_models: Tiny) -> None:
    """An old file says neither; what comes out is the source's, and its origin says whose it is."""
    config = json.loads((tiny_models("gemma3") / "config.json").read_bytes())
    assert _origin(source_defaults(tiny_models("gemma3")), "rope_local_base_freq").startswith(
        "config.json; "
    )
    for name in ("rope_parameters", "layer_types", "sliding_window_pattern"):
        config.pop(name, None)
    (tmp_path / "config.json").write_text(json.dumps(config))
    found = source_defaults(tmp_path)
    assert (found["rope_theta"], found["rope_local_base_freq"]) == (1e6, 1e4)
    assert found["layer_types"] == [SLIDING] * 5 + [FULL]
    for name in ("rope_theta", "rope_local_base_freq", "layer_types"):
        assert _origin(found, name).startswith("source default; ")


def test_gemma3_ignores_a_cap_of_its_scores(tmp_path: Path) -> None:
    """Its class keeps the field and hands it to nothing; the logits are capped as it says."""
    changes = {"attn_logit_softcapping": 3.0, "final_logit_softcapping": 7.0}
    found = source_defaults(write_tiny("gemma3", tmp_path, **changes))
    assert found["attn_logit_softcapping"] is None
    assert found["final_logit_softcapping"] == 7.0


@pytest.mark.parametrize(
    ("name", "expected"),
    [("gelu", "gelu_erf"), ("gelu_new", "gelu_tanh"), ("swish", "silu")],
)
def test_activations_are_known_by_their_values(tmp_path: Path, name: str, expected: str) -> None:
    assert source_defaults(write_tiny("llama", tmp_path, hidden_act=name))["hidden_act"] == expected


_ROPE = {"rope_theta": 1e4, "factor": 4.0}


@pytest.mark.parametrize(
    ("family", "changes", "says"),
    [
        ("llama", {"rope_parameters": {**_ROPE, "rope_type": "dynamic"}}, "rope_type 'dynamic'"),
        ("llama", {"hidden_act": "relu"}, "activation ReLU"),
        ("llama", {"hidden_act": "quick_gelu"}, "activation QuickGELU"),
        ("gpt2", {"scale_attn_by_inverse_layer_idx": True}, "scale_attn_by_inverse_layer_idx"),
        ("gpt2", {"reorder_and_upcast_attn": True}, "reorder_and_upcast_attn"),
        ("gpt2", {"add_cross_attention": True}, "add_cross_attention"),
        ("gemma3", {"use_bidirectional_attention": True}, "use_bidirectional_attention"),
        ("phi3", {"rope_parameters": {
            "rope_type": "longrope", "rope_theta": 1e4, "partial_rotary_factor": 1.0,
            "short_factor": [1.0] * 6, "long_factor": [2.0] * 6,
        }}, "longrope"),
    ],
)  # fmt: skip
def test_what_no_configuration_can_say_is_refused_by_name(
    tmp_path: Path, family: str, changes: dict[str, Any], says: str, tiny_models: Tiny
) -> None:
    config = json.loads((tiny_models(family) / "config.json").read_bytes())
    (tmp_path / "config.json").write_text(json.dumps({**config, **changes}))
    with pytest.raises(OracleModelError, match=says):
        source_defaults(tmp_path)
