"""The effective configuration: closed schema, the source's own values, the tensor plan."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save_file

from trlm_lab import errors
from trlm_lab.base.records import SourceDefaults
from trlm_lab.base.safetensors_header import StoredTensor, TensorInfo
from trlm_lab.describe import check_tensors, describe, effective_config
from trlm_lab.describe.families import FAMILIES, GENERATION_SCHEMA
from trlm_lab.describe.schema import FieldKind

Tree = Callable[..., Path]
Defaults = Callable[..., SourceDefaults]


def test_values_come_from_the_source(tree: Tree, defaults: Defaults) -> None:
    config = effective_config(tree(), defaults())
    assert config.rope_inv_freq == (1.0, 0.009999999776482582)
    assert config.rms_norm_eps == 9.999999747378752e-06
    assert (config.bos_token_id, config.eos_token_id) == (2, (3,))
    assert (config.pad_token_id, config.unk_token_id) == (None, 0)


def test_an_id_that_no_file_declares_is_the_source_s(tree: Tree, defaults: Defaults) -> None:
    root = tree(config={"bos_token_id": None}, bare=True)
    assert effective_config(root, defaults(bos_token_id=5)).bos_token_id == 5


def test_an_unknown_key_is_fatal(tree: Tree, defaults: Defaults) -> None:
    with pytest.raises(errors.UnknownFieldError, match="'attn_logit_softcapping' is not in the"):
        effective_config(tree(config={"attn_logit_softcapping": 50.0}), defaults())
    with pytest.raises(
        errors.UnknownFieldError, match=r"generation_config\.json#/odd: the key 'odd'"
    ):
        effective_config(tree(generation={"odd": 1}), defaults())


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("rope_scaling", {"rope_type": "llama3", "factor": 8.0}),
        ("rope_parameters", {"rope_type": "yarn", "rope_theta": 10000.0}),
        ("rope_interleaved", True),
        ("attention_bias", 1),
        ("rope_scaling", {"rope_type": "dynamic", "factor": 2.0}),
        ("rope_scaling", {"rope_type": "linear", "factor": 2.0, "odd": 1}),
        ("rope_scaling", {"rope_type": "linear", "factor": 0.5}),
        ("per_layer_config", {"0": {"hidden_act": "relu"}}),
        ("pretraining_tp", 2),
        ("sliding_window", 512),
        ("quantization_config", {"bits": 4}),
        ("hidden_act", "relu"),
        ("hidden_size", 8.0),
        ("num_hidden_layers", True),
        ("tie_word_embeddings", 1),
        ("rms_norm_eps", -1.0),
        ("partial_rotary_factor", 0.5),
    ],
)
def test_an_unsupported_value_is_refused(
    tree: Tree, defaults: Defaults, key: str, value: Any
) -> None:
    with pytest.raises(errors.FieldValueError, match=key):
        effective_config(tree(config={key: value}), defaults())


def test_plain_rope_may_be_spelled_three_ways(tree: Tree, defaults: Defaults) -> None:
    for row in (
        {"rope_scaling": None},
        {"rope_parameters": {"rope_type": "default", "rope_theta": 10000.0}},
        {"rope_scaling": {"type": "default"}},
    ):
        assert effective_config(tree(config=row), defaults()).rope_theta == 10000.0


def test_every_key_is_classified_with_a_reason(tree: Tree, defaults: Defaults) -> None:
    described = describe(tree(config={"torch_dtype": "bfloat16"}), defaults())
    rows = {f.name: f for f in described.classified}
    assert rows["torch_dtype"].kind is FieldKind.DOCUMENTARY
    assert rows["rope_theta"].kind is FieldKind.BEHAVIOUR
    for schema in (*(f.schema for f in FAMILIES.values()), GENERATION_SCHEMA):
        assert schema.version >= 1
        assert schema.reviewer
        assert all(rule.reason for rule in schema.rules.values())


def test_a_declared_value_must_be_the_one_in_use(tree: Tree, defaults: Defaults) -> None:
    with pytest.raises(errors.SourceDisagreesError, match="hidden_size: the file declares 8"):
        effective_config(tree(), defaults(hidden_size=16))
    root = tree(config={"rope_parameters": {"rope_theta": 500.0}})
    with pytest.raises(errors.ConflictError, match="ROPE_CONFLICT"):
        effective_config(root, defaults())
    row = json.loads((root / "config.json").read_bytes())
    del row["rope_theta"]
    (root / "config.json").write_text(json.dumps(row))
    with pytest.raises(errors.SourceDisagreesError, match=r"rope_parameters \(rope_theta\)"):
        effective_config(root, defaults())


def test_a_value_that_the_source_does_not_supply_is_not_guessed(
    tree: Tree, defaults: Defaults
) -> None:
    with pytest.raises(errors.DefaultMissingError, match=r"framework 1\.0 supplied no value"):
        effective_config(tree(), defaults(attention_scale="dropped"))


def test_another_family_is_refused(tree: Tree, defaults: Defaults) -> None:
    root = tree(config={"model_type": "bloom", "architectures": ["BloomForCausalLM"]})
    with pytest.raises(errors.FamilyUnsupportedError, match="'bloom' has no schema; known: gemma2"):
        effective_config(root, defaults())


def test_a_conflict_stops_the_configuration(tree: Tree, defaults: Defaults) -> None:
    with pytest.raises(errors.ConflictError, match="EOS_CONFLICT"):
        effective_config(tree(config={"eos_token_id": 4}), defaults())
    with pytest.raises(errors.ConflictError, match="a model has one bos token"):
        effective_config(tree(config={"bos_token_id": [2, 4]}), defaults())


def weights(**changes: Any) -> dict[str, np.ndarray]:
    block = {
        "input_layernorm": (8,), "self_attn.q_proj": (8, 8), "self_attn.k_proj": (4, 8),
        "self_attn.v_proj": (4, 8), "self_attn.o_proj": (8, 8), "post_attention_layernorm": (8,),
        "mlp.gate_proj": (12, 8), "mlp.up_proj": (12, 8), "mlp.down_proj": (8, 12),
    }  # fmt: skip
    shapes = {"model.embed_tokens.weight": (8, 8), "model.norm.weight": (8,)}
    shapes |= {f"model.layers.0.{part}.weight": shape for part, shape in block.items()}
    rows = {name: np.zeros(shape, np.float32) for name, shape in shapes.items()}
    return {k: v for k, v in (rows | changes).items() if v is not None}


DOWN = "model.layers.0.mlp.down_proj.weight"


def test_the_weights_must_be_the_planned_ones(tree: Tree, defaults: Defaults) -> None:
    root = tree()
    path = root / "model.safetensors"
    save_file(weights(), path)
    described = describe(root, defaults())
    assert [t.role for t in described.tensors][:2] == ["embedding", "attn_norm"]
    assert described.tensors[-1].alias_of == "model.embed_tokens.weight"
    save_file(weights(**{DOWN: None}), path)
    with pytest.raises(errors.TensorMissingError, match="down_proj"):
        describe(root, defaults())
    save_file(weights(**{DOWN: np.zeros((12, 8), np.float32)}), path)
    with pytest.raises(
        errors.TensorShapeError, match=r"\[12, 8\], the configuration says \[8, 12\]"
    ):
        describe(root, defaults())
    save_file(weights(**{DOWN: np.zeros((8, 12), np.float16)}), path)
    with pytest.raises(errors.TensorDtypeError, match="is F16"):
        describe(root, defaults())
    save_file(weights(odd=np.zeros(1, np.float32)), path)
    with pytest.raises(errors.TensorUnknownError, match="'odd' has no role"):
        describe(root, defaults())


def test_an_untied_head_is_needed(tree: Tree, defaults: Defaults) -> None:
    root = tree(config={"tie_word_embeddings": False})
    path = root / "model.safetensors"
    untied = defaults(tie_word_embeddings=False)
    save_file(weights(**{"lm_head.weight": np.zeros((8, 8), np.float32)}), path)
    plan = describe(root, untied).tensors
    assert plan[-1].alias_of is None
    save_file(weights(), path)
    with pytest.raises(errors.ConflictError, match="TIED_CONFLICT: the head is not tied"):
        describe(root, untied)
    stored = {t.name: StoredTensor(path, TensorInfo(t.name, "F32", t.shape, 0, 0)) for t in plan}
    check_tensors(plan, stored, frozenset({"F32"}))
    del stored["lm_head.weight"]
    with pytest.raises(errors.TensorMissingError, match="lm_head"):
        check_tensors(plan, stored, frozenset({"F32"}))


@pytest.mark.slow
def test_the_real_source_supplies_what_is_needed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from trlm_lab.acquire import acquire
    from trlm_lab.oracle import source_defaults

    monkeypatch.setenv("TRLM_HOME", str(tmp_path))
    root = acquire("synthetic:llama-small").root
    described = describe(root, source_defaults(root))
    assert described.receipt.verdict == "accept"
    assert described.config.rope_inv_freq[0] == 1.0
    assert described.config.attention_scale == 0.25
    assert len(described.tensors) == 3 + 4 * 9
