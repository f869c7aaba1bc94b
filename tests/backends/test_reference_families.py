"""The reference engine on every family: files, chunks and steps, biases, windows, refusals."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.backends import tiny_slm as tiny
from tests.backends.reference_model import CASE, assert_same, family_model, observed
from tests.backends.tiny_families import FAMILIES
from trlm_lab.backends.model_files import OpenModel, open_artifact, open_subject
from trlm_lab.backends.profiles import REFERENCE_PROFILES
from trlm_lab.backends.reference import ReferenceRunner
from trlm_lab.base.bits import same_bits
from trlm_lab.base.interfaces import Subject
from trlm_lab.base.model_parts import ladder_of, model_tensors
from trlm_lab.base.names import is_checkpoint, parse_checkpoint
from trlm_lab.base.records import Case, EffectiveConfig
from trlm_lab.errors import AllKeysMaskedError, ModelFilesError, UnsupportedModelError
from trlm_lab.ops.arithmetic import Array
from trlm_lab.oracle.defaults import effective_config, source_defaults


def run(model: OpenModel, case: Case = CASE, profile: str = "scalar-f32-v1") -> dict[str, Array]:
    return observed(ReferenceRunner(profile).start(model).run(case))


def letters(config: EffectiveConfig, tokens: int) -> dict[str, int]:
    H, K, E = config.num_attention_heads, config.num_key_value_heads, config.head_dim
    return {"T": tokens, "S": tokens, "D": config.hidden_size, "H": H, "K": K, "E": E,
            "F": config.intermediate_size, "V": config.vocab_size, "HE": H * E,
            "KE": K * E}  # fmt: skip


@pytest.mark.parametrize("family", FAMILIES)
def test_every_checkpoint_of_the_model_and_no_other(family: str) -> None:
    model = family_model(family)
    size = letters(model.config, len(CASE.token_ids))
    for profile in REFERENCE_PROFILES:
        seen = run(model, profile=profile)
        names = [name for name in seen if is_checkpoint(name)]
        assert names == ladder_of(model.config)
        for name in names:
            assert seen[name].shape == tuple(size[a] for a in parse_checkpoint(name).axes), name


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("quant", ["f32", "q8_r128"])
def test_an_artifact_runs_as_its_arrays_do(family: str, quant: str, tmp_path: Path) -> None:
    config = tiny.tiny_config(family)
    path = tmp_path / "model.slm"
    path.write_bytes(tiny.write_slm(config, tiny.tiny_weights(config), quant))
    opened = open_artifact(path)
    assert opened.config == config
    tensors: dict[str, Any] = dict(family_model(family).tensors)
    if quant == "q8_r128":
        tensors = {n: tiny.dequantize(v) if v.ndim == 2 else v for n, v in tensors.items()}
    assert_same(run(opened), run(OpenModel(config, tensors)))


@pytest.mark.parametrize("family", FAMILIES)
def test_chunks_and_steps_have_the_bits_of_one_prefill(family: str) -> None:
    session = ReferenceRunner("lanes16-f32-v1").start(family_model(family))
    whole, cache, start = observed(session.run(CASE)), session.new_cache(), 0
    for size in (1, 3, 1):
        end = start + size
        for name, values in observed(
            session.advance(cache, np.array(CASE.token_ids[start:end]))
        ).items():
            square = name.split(".")[-1] in ("attn_scores", "attn_masked", "attn_probs")
            wanted = whole[name][:, start:end, :end] if square else whole[name][start:end]
            assert same_bits(values, np.ascontiguousarray(wanted)), name
        start = end


@pytest.mark.parametrize("family", FAMILIES)
def test_each_missing_or_misshapen_tensor_is_named(family: str) -> None:
    model = family_model(family)
    for tensor in model_tensors(model.config):
        rest = {name: rows for name, rows in model.tensors.items() if name != tensor.name}
        shorter = {**rest, tensor.name: model.tensors[tensor.name][1:]}
        for tensors in (rest, shorter):
            with pytest.raises(ModelFilesError, match=tensor.name):
                OpenModel(model.config, tensors)


def test_a_sliding_layer_sees_its_window_and_a_full_one_everything() -> None:
    seen = run(family_model("gemma2"))
    ages = np.arange(5)[:, None] - np.arange(5)[None, :]
    for layer, near in ((0, ages < 3), (1, ages < 5), (2, ages < 3)):
        visible = near & (ages >= 0)
        shown = seen[f"layers.{layer}.attn_masked"] != np.finfo(np.float32).min
        assert (shown == visible).all()
        assert ((seen[f"layers.{layer}.attn_probs"] > 0) == visible).all()


def test_a_window_of_padding_alone_is_refused_before_anything_runs() -> None:
    near = Case("near", CASE.token_ids, attention_mask=(1, 0, 0, 1, 0))
    gap = Case("gap", CASE.token_ids, attention_mask=(1, 0, 0, 0, 1))
    assert run(family_model("llama"), gap)["logits"].shape == (5, 67)
    assert run(family_model("mistral"), near)["logits"].shape == (5, 67)
    with pytest.raises(AllKeysMaskedError, match=r"gap: attention_mask\[3\]"):
        run(family_model("mistral"), gap)
    session = ReferenceRunner().start(family_model("mistral"))
    cache, keep = session.new_cache(), gap.attention_mask
    with pytest.raises(AllKeysMaskedError, match="softmax"):
        observed(session.advance(cache, np.array(gap.token_ids), keep=keep))


def test_learned_positions_are_those_of_the_case() -> None:
    model = family_model("gpt2")
    case = Case("jump", CASE.token_ids, position_ids=(0, 1, 2, 9, 63))
    plain, jumped = run(model), run(model, case)
    assert same_bits(plain["embedding"], jumped["embedding"])
    table = model.tensors["model.embed_positions.weight"]
    expected = plain["embedding"] + table[:][[0, 1, 2, 9, 63]]
    assert same_bits(jumped["layers.0.input"], expected.astype(np.float32))


def test_partial_rotation_leaves_the_rest_of_a_head() -> None:
    seen, heads = run(family_model("phi3")), (5, 6, 14)
    before, after = seen["layers.0.q_proj"].reshape(heads), seen["layers.0.q_rope"]
    assert same_bits(np.ascontiguousarray(before[..., 6:]), np.ascontiguousarray(after[..., 6:]))
    assert (before[1:, :, :6] != after[1:, :, :6]).any()


@pytest.mark.parametrize("family", ["gpt2", "phi3"])
def test_a_described_directory_of_another_layout_is_read_by_its_steps(
    family: str, tiny_models: Callable[[str], Path]
) -> None:
    root = tiny_models(family)
    config = effective_config(source_defaults(root))
    opened = open_subject(Subject(model_dir=root), config)
    assert {t.name: t.shape for t in model_tensors(config)} == {
        name: tuple(rows.shape) for name, rows in opened.tensors.items()
    }


def test_gpt2_is_read_in_both_spellings(tiny_models: Callable[[str], Path], tmp_path: Path) -> None:
    from safetensors.numpy import load_file, save_file

    root = tiny_models("gpt2")
    config = effective_config(source_defaults(root))
    stored = load_file(root / "model.safetensors")
    short = {name.removeprefix("transformer."): values for name, values in stored.items()}
    short["h.0.attn.bias"] = np.ones((1, 1, 64, 64), np.float32)
    save_file(short, tmp_path / "model.safetensors")
    ours, theirs = (
        run(open_subject(Subject(model_dir=place), config)) for place in (root, tmp_path)
    )
    assert_same(ours, theirs)


@pytest.mark.parametrize("family", FAMILIES[1:])
def test_a_directory_that_nobody_described_is_refused_with_the_way_out(
    family: str, tiny_models: Callable[[str], Path]
) -> None:
    with pytest.raises(UnsupportedModelError, match="pack it first"):
        open_subject(Subject(model_dir=tiny_models(family)))


def test_a_directory_without_a_tensor_of_its_layout_is_refused(
    tiny_models: Callable[[str], Path], tmp_path: Path
) -> None:
    from safetensors.numpy import load_file, save_file

    root = tiny_models("phi3")
    tensors = load_file(root / "model.safetensors")
    del tensors["model.layers.1.self_attn.qkv_proj.weight"]
    save_file(tensors, tmp_path / "model.safetensors")
    (tmp_path / "config.json").write_text(json.dumps({}), encoding="utf-8")
    with pytest.raises(ModelFilesError, match=r"layers\.1\.self_attn\.qkv_proj"):
        open_subject(Subject(model_dir=tmp_path), effective_config(source_defaults(root)))
