"""Defaults are read from the live source: complete, as used, and with the line that says so."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import transformers

from trlm_lab.base.records import EffectiveConfig, SourceDefaults
from trlm_lab.errors import CaptureError, OracleModelError
from trlm_lab.oracle import source_defaults
from trlm_lab.oracle.defaults.source import Source

Alter = Callable[..., Path]


@pytest.fixture(scope="module")
def found(model_dir: Path) -> SourceDefaults:
    return source_defaults(model_dir)


def _effective(found: SourceDefaults) -> EffectiveConfig:
    row = {d.name: d.value for d in found.values}
    return EffectiveConfig.from_map({f.name: row[f.name] for f in fields(EffectiveConfig)})


def _origin(found: SourceDefaults, name: str) -> str:
    return next(d.origin for d in found.values if d.name == name)


def test_every_field_of_the_effective_configuration_is_there(found: SourceDefaults) -> None:
    config = _effective(found)
    assert (config.hidden_size, config.num_key_value_heads, config.head_dim) == (96, 2, 16)
    assert config.rope_order == "half_split"
    assert config.attention_scale == 0.25
    assert config.rms_norm_eps == float(np.float32(1e-5)) != 1e-5
    assert config.eos_token_id == (2,)


def test_values_are_those_of_the_loaded_model(found: SourceDefaults, session: Any) -> None:
    model = session._model
    attention = model.model.layers[0].self_attn
    rotary = model.model.rotary_emb.inv_freq.numpy()
    assert np.array(found["rope_inv_freq"], dtype=np.float32).tobytes() == rotary.tobytes()
    assert found["attention_scale"] == np.float32(attention.scaling)
    assert found["rms_norm_eps"] == np.float32(model.model.norm.variance_epsilon)
    assert found["tie_word_embeddings"] is (model.lm_head.weight is model.model.embed_tokens.weight)
    assert found["hidden_act"] == "silu"
    assert type(model.model.layers[0].mlp.act_fn).__name__ == "SiLUActivation"


def test_values_survive_json(found: SourceDefaults) -> None:
    for default in found.values:
        assert json.loads(json.dumps(default.value)) == default.value


def test_origins_name_a_line_of_the_installed_source(found: SourceDefaults) -> None:
    place = re.compile(r"(transformers/\S+\.py):(\d+) \(transformers (\S+)\)")
    base = Path(transformers.__file__).parents[1]
    lines = {}
    for default in found.values:
        match = place.search(default.origin)
        if match:
            assert match[3] == transformers.__version__
            lines[default.name] = (base / match[1]).read_text().splitlines()[int(match[2]) - 1]
    assert "variance + self.variance_epsilon" in lines["rms_norm_eps"]
    assert "self.scaling" in lines["attention_scale"]
    assert 'rope_parameters["rope_theta"]' in lines["rope_theta"]
    assert "torch.cat((-x2, x1)" in lines["rope_order"]
    assert len(lines) >= len(fields(EffectiveConfig)) - 1


def test_missing_fields_are_supplied_by_the_source(altered_dir: Alter) -> None:
    found = source_defaults(
        altered_dir(rms_norm_eps=None, num_key_value_heads=None, head_dim=None, hidden_act=None)
    )
    assert found["rms_norm_eps"] == float(np.float32(1e-6))
    assert found["num_key_value_heads"] == 6
    assert (found["head_dim"], found["hidden_act"]) == (16, "silu")
    for name in ("rms_norm_eps", "num_key_value_heads", "head_dim"):
        assert _origin(found, name).startswith("source default; ")
    assert _origin(found, "hidden_size").startswith("config.json; ")


def test_rope_theta_is_found_in_the_older_spelling(altered_dir: Alter) -> None:
    found = source_defaults(altered_dir(rope_parameters=None, rope_theta=5e4))
    assert found["rope_theta"] == 5e4
    assert _origin(found, "rope_theta").startswith("config.json; ")
    steps = np.arange(0, 16, 2) / 16
    assert np.allclose(found["rope_inv_freq"], 5e4**-steps, rtol=1e-6)


def test_biases_untied_heads_and_end_tokens_are_reported(altered_dir: Alter) -> None:
    found = source_defaults(
        altered_dir(
            attention_bias=True, mlp_bias=True, tie_word_embeddings=False, eos_token_id=[2, 5]
        )
    )
    assert (found["attention_bias"], found["mlp_bias"]) == (True, True)
    assert found["tie_word_embeddings"] is False
    assert found["eos_token_id"] == [2, 5]


def test_scaled_rotation_is_reported_as_such(altered_dir: Alter) -> None:
    rope = {"rope_type": "linear", "rope_theta": 1e4, "factor": 2.0}
    found = source_defaults(altered_dir(rope_parameters=rope))
    assert found["rope_type"] == "linear"
    assert found["rope_inv_freq"][0] == 0.5


def test_generation_ids_are_kept_apart(model_dir: Path, altered_dir: Alter) -> None:
    copy = altered_dir()
    (copy / "generation_config.json").write_text('{"eos_token_id":[2,7],"pad_token_id":2}')
    found = source_defaults(copy)
    assert found["generation.eos_token_id"] == [2, 7]
    assert found["eos_token_id"] == [2]
    (copy / "generation_config.json").unlink()
    with pytest.raises(KeyError):
        source_defaults(copy)["generation.eos_token_id"]


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"model_type": "bert"}, "model_type is 'bert'"),
        ({"model_type": None}, "model_type is None"),
        ({"hidden_size": "wide"}, "hidden_size"),
        ({"hidden_size": 95}, "multiple"),
        ({"num_hidden_layers": 0}, "num_hidden_layers is 0"),
        ({"num_hidden_layers": 10**9}, "num_hidden_layers is 1000000000"),
        ({"hidden_act": "no-such"}, "no-such"),
        ({"rope_parameters": {"rope_type": "no-such", "rope_theta": 1e4}}, "no-such"),
        ({"num_attention_heads": 0}, "config.json"),
    ],
)
def test_bad_configurations_are_refused(
    altered_dir: Alter, changes: dict[str, Any], says: str
) -> None:
    with pytest.raises(OracleModelError, match=says):
        source_defaults(altered_dir(**changes))


@pytest.mark.parametrize("text", ["", "{", "[]", "\xff"])
def test_a_broken_config_file_is_refused(altered_dir: Alter, text: str) -> None:
    path = altered_dir() / "config.json"
    path.write_bytes(text.encode("latin-1"))
    with pytest.raises(OracleModelError) as caught:
        source_defaults(path.parent)
    assert caught.value.where == str(path)


def test_a_broken_generation_file_is_refused(altered_dir: Alter) -> None:
    path = altered_dir() / "generation_config.json"
    path.write_text("{")
    with pytest.raises(OracleModelError):
        source_defaults(path.parent)


def test_a_line_that_the_source_no_longer_has_is_reported(model_dir: Path) -> None:
    config = transformers.LlamaConfig.from_pretrained(model_dir)
    source = Source(model_dir, config, transformers.LlamaForCausalLM(config))
    with pytest.raises(CaptureError, match="no longer holds 'no such text'"):
        source.place(type(source.mlp), "no such text")
