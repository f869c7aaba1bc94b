"""Nine families: the schema against the class, a described tiny model, and what is refused."""

import dataclasses
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from tests.tiny_models import FAMILIES as TINY
from trlm_lab import errors
from trlm_lab.base.model_parts import model_tensors
from trlm_lab.base.records import SourceDefaults
from trlm_lab.describe import check_model_directory, classification, describe
from trlm_lab.describe.families import FAMILIES, GENERATION_SCHEMA
from trlm_lab.describe.schema import FieldKind

Models = Callable[[str], Path]

CLASSES = {
    "llama": "LlamaConfig", "mistral": "MistralConfig", "qwen2": "Qwen2Config",
    "qwen3": "Qwen3Config", "gemma2": "Gemma2Config", "gemma3_text": "Gemma3TextConfig",
    "gpt2": "GPT2Config", "olmo2": "Olmo2Config", "phi3": "Phi3Config",
}  # fmt: skip


def config_class(kind: str) -> Any:
    import transformers

    return getattr(transformers, CLASSES[kind])


@pytest.mark.parametrize("kind", FAMILIES)
def test_the_schema_has_every_field_of_the_class(kind: str) -> None:
    made = config_class(kind)()
    fields = {f.name for f in dataclasses.fields(made)} | set(made.to_dict())
    assert fields - FAMILIES[kind].schema.rules.keys() == set()


@pytest.mark.parametrize("kind", FAMILIES)
def test_no_behaviour_is_left_of_a_field_that_the_class_no_longer_has(kind: str) -> None:
    made = config_class(kind)()
    fields = {f.name for f in dataclasses.fields(made)} | set(made.to_dict())
    rules = FAMILIES[kind].schema.rules
    behaviour = {name for name, rule in rules.items() if rule.kind is FieldKind.BEHAVIOUR}
    # Older spellings that the base class still understands, and keys read only where they stand.
    legacy = {
        "rope_theta", "rope_scaling", "rope_local_base_freq", "partial_rotary_factor",
        "sliding_window_pattern", "per_layer_config", "quantization_config",
    }  # fmt: skip
    read_where_given = {"qwen2": {"head_dim"}, "olmo2": {"head_dim"}, "phi3": {"head_dim"},
                        "mistral": {"layer_types"}}  # fmt: skip
    assert behaviour - fields - legacy == read_where_given.get(kind, set())


@pytest.mark.parametrize("kind", FAMILIES)
def test_what_holds_unless_said_is_the_default_of_the_class(kind: str) -> None:
    made = config_class(kind)()
    for name, value in FAMILIES[kind].unless_said.items():
        if name != "attention_out_bias":
            assert getattr(made, name) is value


#: Keys of published files, beside those of the classes: what older frameworks and publishers wrote.
PUBLISHED = {
    "llama": "_name_or_path torch_dtype rope_theta rope_scaling rope_interleaved is_llama_config "
    "unsloth_fixed quantization_config transformers.js_config",
    "mistral": "_name_or_path torch_dtype rope_theta auto_map",
    "qwen2": "torch_dtype rope_theta use_mrope rope_scaling",
    "qwen3": "torch_dtype rope_theta rope_scaling use_mrope",
    "gemma2": "torch_dtype hidden_act cache_implementation rope_theta sliding_window_size "
    "_attn_implementation",
    "gemma3_text": "torch_dtype rope_theta rope_local_base_freq rope_scaling "
    "sliding_window_pattern _sliding_window_pattern cache_implementation",
    "gpt2": "n_ctx task_specific_params gradient_checkpointing _num_labels id2label label2id "
    "torch_dtype output_past",
    "olmo2": "torch_dtype rope_theta rope_scaling _attn_implementation_autoset",
    "phi3": "torch_dtype auto_map rope_theta rope_scaling attention_bias partial_rotary_factor "
    "full_attn_mod interpolate_factor lm_head_bias mlp_bias",
}


@pytest.mark.parametrize("kind", FAMILIES)
def test_the_keys_of_published_files_are_classified(kind: str) -> None:
    assert set(PUBLISHED[kind].split()) - FAMILIES[kind].schema.rules.keys() == set()


def test_every_field_of_a_generation_configuration_is_classified() -> None:
    from transformers import GenerationConfig

    assert set(GenerationConfig().to_dict()) - GENERATION_SCHEMA.rules.keys() == set()


def test_every_rule_has_a_reason_and_a_reviewer() -> None:
    for family in FAMILIES.values():
        assert family.schema.reviewer
        assert all(rule.reason for rule in family.schema.rules.values())


@pytest.fixture(scope="session")
def supplied(tiny_models: Models) -> Callable[[str], SourceDefaults]:
    """The defaults of a family's tiny model, read once."""
    from trlm_lab.oracle import source_defaults

    found: dict[str, SourceDefaults] = {}

    def defaults(family: str) -> SourceDefaults:
        if family not in found:
            found[family] = source_defaults(tiny_models(family))
        return found[family]

    return defaults


@pytest.mark.parametrize("family", TINY)
def test_a_tiny_model_is_described(
    tiny_models: Models, supplied: Callable[[str], SourceDefaults], family: str
) -> None:
    root = tiny_models(family)
    described = describe(root, supplied(family))
    config = json.loads((root / "config.json").read_bytes())
    assert {f.name for f in described.classified} == set(config)
    signed = classification(root)
    assert {row["key"] for row in signed["fields"]} == set(config)
    assert all(row["reason"] for row in signed["fields"])
    assert signed["reviewer"]
    assert described.config.hidden_size == 48
    assert [f for f in check_model_directory(root) if f["level"] == "error"] == []
    made = "+".join(t.role for t in described.tensors).split("+")
    assert sorted(made) == sorted(t.role for t in model_tensors(described.config))


#: Family, key, value: what is refused by the schema.
REFUSED: list[tuple[str, str, Any]] = [
    ("phi3", "rope_scaling", {"type": "longrope", "short_factor": [1.0], "long_factor": [1.0]}),
    ("phi3", "rope_scaling", {"type": "yarn", "factor": 2.0}),
    ("phi3", "partial_rotary_factor", 1.5),
    ("phi3", "lm_head_bias", True),
    ("qwen2", "rope_scaling", {"type": "dynamic", "factor": 2.0}),
    ("qwen2", "use_mrope", True),
    ("qwen3", "layer_types", ["full_attention", "linear_attention", "full_attention"]),
    ("mistral", "layer_types", ["full_attention", "sliding_attention"]),
    ("mistral", "partial_rotary_factor", 0.5),
    ("gemma2", "use_bidirectional_attention", True),
    ("gemma3", "use_bidirectional_attention", True),
    ("gemma3", "rope_parameters", {"rope_type": "default", "rope_theta": 1e4}),
    ("gemma3", "sliding_window_pattern", 0),
    ("gpt2", "scale_attn_by_inverse_layer_idx", True),
    ("gpt2", "reorder_and_upcast_attn", True),
    ("gpt2", "scale_attn_weights", False),
    ("gpt2", "add_cross_attention", True),
    ("gpt2", "activation_function", "relu"),
    ("olmo2", "quantization_config", {"bits": 4}),
]


def changed(root: Path, out: Path, **changes: Any) -> Path:
    """A copy of a model directory with other keys in its `config.json`; None drops one."""
    shutil.copytree(root, out)
    row = json.loads((out / "config.json").read_bytes()) | changes
    left = {key: value for key, value in row.items() if key not in changes or value != "dropped"}
    (out / "config.json").write_text(json.dumps(left))
    return out


@pytest.mark.parametrize(("family", "key", "value"), REFUSED)
def test_what_is_not_computed_is_refused_by_value(
    tiny_models: Models, tmp_path: Path, family: str, key: str, value: Any
) -> None:
    root = changed(tiny_models(family), tmp_path / "model", **{key: value})
    found = [f for f in check_model_directory(root) if f["code"] == "FIELD_VALUE"]
    assert [f["where"] for f in found] == [f"config.json#/{key}"]


#: Family, key, value: what the schema accepts and the source does not do.
CONTRADICTED: list[tuple[str, str, Any]] = [
    ("llama", "attention_bias", True),
    ("mistral", "sliding_window", 7),
    ("qwen2", "attention_bias", False),
    ("qwen2", "max_window_layers", 2),
    ("qwen2", "use_sliding_window", False),
    ("qwen3", "sliding_window", 6),
    ("gemma2", "query_pre_attn_scalar", 25),
    ("gemma2", "final_logit_softcapping", None),
    ("gemma2", "hidden_act", "silu"),
    ("gemma3", "_sliding_window_pattern", 3),
    ("gemma3", "rope_local_base_freq", 2e4),
    ("gpt2", "n_ctx", 32),
    ("gpt2", "n_inner", 96),
    ("olmo2", "rms_norm_eps", 1e-6),
    ("phi3", "partial_rotary_factor", 0.5),
    ("phi3", "mlp_bias", True),
]


@pytest.mark.parametrize(("family", "key", "value"), CONTRADICTED)
def test_a_key_that_the_source_does_not_follow_is_no_description(
    tiny_models: Models,
    supplied: Callable[[str], SourceDefaults],
    tmp_path: Path,
    family: str,
    key: str,
    value: Any,
) -> None:
    """The defaults are those of the unchanged file: a framework that ignores the key."""
    dropped = {"layer_types": "dropped"} if "window_layers" in key or "pattern" in key else {}
    root = changed(tiny_models(family), tmp_path / "model", **{key: value}, **dropped)
    with pytest.raises(errors.SourceDisagreesError, match=key):
        describe(root, supplied(family))


def test_published_spellings_of_gpt2_are_known(
    tiny_models: Models, supplied: Callable[[str], SourceDefaults], tmp_path: Path
) -> None:
    root = changed(tiny_models("gpt2"), tmp_path / "model", n_ctx=64)
    weights = load_file(root / "model.safetensors")
    bare = {name.removeprefix("transformer."): value for name, value in weights.items()}
    mask = np.tril(np.ones((1, 1, 64, 64), np.float32))
    bare |= {f"h.{layer}.attn.bias": mask for layer in range(2)}
    save_file(bare, root / "model.safetensors")
    plan = {t.name: t for t in describe(root, supplied("gpt2")).tensors}
    assert plan["h.0.attn.bias"].role == "left aside"
    assert plan["h.0.attn.c_attn.weight"].role == "q_proj+k_proj+v_proj"
    assert plan["lm_head.weight"].alias_of == "wte.weight"
    assert [f for f in check_model_directory(root) if f["level"] == "error"] == []
    save_file({**bare, "h.0.attn.bias": mask[0]}, root / "model.safetensors")
    with pytest.raises(errors.TensorShapeError, match=r"h\.0\.attn\.bias"):
        describe(root, supplied("gpt2"))


def test_names_of_another_family_are_unknown(
    tiny_models: Models, supplied: Callable[[str], SourceDefaults], tmp_path: Path
) -> None:
    root = changed(tiny_models("qwen2"), tmp_path / "model")
    weights = load_file(root / "model.safetensors")
    gains = {f"model.layers.0.self_attn.{n}_norm.weight": np.ones(16, np.float32) for n in "qk"}
    save_file(weights | gains, root / "model.safetensors")
    with pytest.raises(errors.TensorUnknownError, match="k_norm"):
        describe(root, supplied("qwen2"))


LLAMA3 = {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
          "original_max_position_embeddings": 32, "rope_theta": 1e4}  # fmt: skip
YARN = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 16,
        "rope_theta": 1e4, "attention_factor": 1.25}  # fmt: skip
#: Family, other keys, and effective fields that follow.
SPELLINGS: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    ("llama", {"rope_parameters": LLAMA3}, {"rope_attention_factor": 1.0}),
    ("qwen3", {"rope_parameters": YARN}, {"rope_attention_factor": 1.25}),
    ("olmo2", {"rope_parameters": "dropped", "rope_theta": 5e5}, {"rope_theta": 5e5}),
    (
        "gemma3",
        {"rope_parameters": "dropped", "rope_theta": 5e5, "rope_local_base_freq": 2e4,
         "rope_scaling": {"factor": 8.0, "rope_type": "linear"}, "layer_types": "dropped",
         "sliding_window_pattern": 3, "_sliding_window_pattern": "dropped"},
        {"rope_theta": 5e5, "rope_local_base_freq": 2e4,
         "layer_types": ("sliding_attention", "sliding_attention", "full_attention") * 2},
    ),
    ("mistral", {"sliding_window": None}, {"layer_types": ("full_attention",) * 2}),
    ("qwen2", {"use_sliding_window": False, "layer_types": "dropped"}, {"sliding_window": None}),
    ("gemma2", {"attn_logit_softcapping": None}, {"attn_logit_softcapping": None}),
]  # fmt: skip


@pytest.mark.parametrize(("family", "keys", "wanted"), SPELLINGS)
def test_spellings_that_the_source_understands(
    tiny_models: Models, tmp_path: Path, family: str, keys: dict[str, Any], wanted: dict[str, Any]
) -> None:
    from trlm_lab.oracle import source_defaults

    root = changed(tiny_models(family), tmp_path / "model", **keys)
    config = describe(root, source_defaults(root)).config.to_map()
    got = {name: config[name] for name in wanted}
    assert got == {k: list(v) if isinstance(v, tuple) else v for k, v in wanted.items()}
