"""The reference engine over artifacts and model directories, sound and unsound."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.backends import tiny_slm as tiny
from tests.backends.reference_model import (
    CASE,
    CONFIG,
    EXACT,
    F32,
    WEIGHTS,
    arrays,
    assert_same,
    observed,
    session,
)
from trlm_lab.backends.model_config import config_of_model_dir
from trlm_lab.backends.model_files import OpenModel, open_subject
from trlm_lab.backends.reference import ReferenceRunner
from trlm_lab.backends.weights import ArrayWeights
from trlm_lab.base import canon
from trlm_lab.base.bits import same_bits, ulp_distance
from trlm_lab.base.interfaces import Subject
from trlm_lab.base.model_parts import model_tensors
from trlm_lab.errors import (
    JsonError,
    ModelFilesError,
    SafetensorsError,
    SlmError,
    UnknownNameError,
    UnsupportedModelError,
)
from trlm_lab.ops.arithmetic import Array


@pytest.fixture
def slm(tmp_path: Path) -> Callable[..., Subject]:
    def write(quant: str = "f32", **changes: Any) -> Subject:
        path = tmp_path / f"{quant}.slm"
        path.write_bytes(tiny.write_slm(replace(CONFIG, **changes), WEIGHTS, quant))
        return Subject(artifact=path)

    return write


@pytest.mark.parametrize("quant", ["f32", "q8_r128"])
@pytest.mark.parametrize("profile", EXACT)
def test_an_artifact_runs_as_its_arrays_do(
    quant: str, profile: str, slm: Callable[..., Subject]
) -> None:
    model = OpenModel(CONFIG, arrays(q8=quant == "q8_r128"))
    expected = observed(ReferenceRunner(profile).start(model).run(CASE))
    with ReferenceRunner(profile).open(slm(quant)) as opened:
        assert_same(observed(opened.run(CASE)), expected)


def test_interleaved_artifacts_rotate_neighbours(slm: Callable[..., Subject]) -> None:
    half = observed(ReferenceRunner().open(slm()).run(CASE))
    woven = observed(ReferenceRunner().open(slm(rope_order="interleaved")).run(CASE))
    assert same_bits(half["layers.0.q_proj"], woven["layers.0.q_proj"])
    assert not same_bits(half["layers.0.q_rope"], woven["layers.0.q_rope"])


def test_a_changed_byte_is_refused_even_after_a_good_opening(
    slm: Callable[..., Subject],
) -> None:
    subject = slm()
    assert subject.artifact is not None
    ReferenceRunner().open(subject)
    data = bytearray(subject.artifact.read_bytes())
    data[-1] ^= 1
    broken = subject.artifact.with_name("broken.slm")
    broken.write_bytes(data)
    with pytest.raises(SlmError):
        ReferenceRunner().open(Subject(artifact=broken))


def model_dir(root: Path, tensors: dict[str, Array], **changes: Any) -> Path:
    from safetensors.numpy import save_file

    save_file(tensors, root / "model.safetensors")
    row = {
        "model_type": "llama", "vocab_size": 67, "hidden_size": 36, "intermediate_size": 90,
        "num_hidden_layers": 2, "num_attention_heads": 6, "num_key_value_heads": 2,
        "head_dim": 10, "max_position_embeddings": 64, "rms_norm_eps": 1e-5, "hidden_act": "silu",
        "rope_parameters": {"rope_type": "default", "rope_theta": 10000.0},
        "tie_word_embeddings": True, "bos_token_id": 1, "eos_token_id": 2, **changes,
    }  # fmt: skip
    kept = {k: v for k, v in row.items() if v != "left out"}
    (root / "config.json").write_text(json.dumps(kept), encoding="utf-8")
    return root


def stored() -> dict[str, Array]:
    return {w.name: w.values for w in WEIGHTS if w.values is not None}


def test_a_model_directory_runs_as_its_arrays_do(tmp_path: Path) -> None:
    subject = Subject(model_dir=model_dir(tmp_path, stored()))
    assert config_of_model_dir(tmp_path).rope_theta == CONFIG.rope_theta
    described = ReferenceRunner(config=CONFIG).open(subject)
    assert_same(observed(described.run(CASE)), observed(session().run(CASE)))
    plain, exact = (
        observed(ReferenceRunner().open(subject).run(CASE)),
        observed(session().run(CASE)),
    )
    # Frequencies computed from the base may differ from the source's in the last bit, no more.
    assert same_bits(plain["layers.0.k_proj"], exact["layers.0.k_proj"])
    got, own = config_of_model_dir(tmp_path).inv_freq, CONFIG.inv_freq
    assert ulp_distance(got, own).max() <= 1


def test_the_artifact_is_preferred_to_the_directory(
    slm: Callable[..., Subject], tmp_path: Path
) -> None:
    both = replace(slm(), model_dir=tmp_path / "missing")
    assert ReferenceRunner().open(both).config == CONFIG


def test_old_and_sharded_directories(tmp_path: Path) -> None:
    from safetensors.numpy import save_file

    model_dir(tmp_path, stored(), rope_parameters="left out", rope_theta=10000, head_dim=None,
              hidden_size=60, num_key_value_heads="left out", eos_token_id=[2, 3])  # fmt: skip
    config = config_of_model_dir(tmp_path)
    assert (config.head_dim, config.num_key_value_heads) == (10, 6)
    assert config.eos_token_id == (2, 3)
    parts = list(stored().items())
    (tmp_path / "model.safetensors").unlink()
    names = {"a.safetensors": dict(parts[:4]), "b.safetensors": dict(parts[4:])}
    for name, tensors in names.items():
        save_file(tensors, tmp_path / name)
    table = {tensor: name for name, tensors in names.items() for tensor in tensors}
    index = tmp_path / "model.safetensors.index.json"
    index.write_text(json.dumps({"weight_map": table}), encoding="utf-8")
    subject = Subject(model_dir=tmp_path)
    sharded = ReferenceRunner(config=CONFIG).open(subject)
    assert_same(observed(sharded.run(CASE)), observed(session().run(CASE)))
    save_file(names["a.safetensors"] | names["b.safetensors"], tmp_path / "a.safetensors")
    with pytest.raises(ModelFilesError, match="two shards"):
        ReferenceRunner(config=CONFIG).open(subject)
    index.write_text(json.dumps({"weight_map": {"x": "../a.safetensors"}}), encoding="utf-8")
    with pytest.raises(ModelFilesError, match="files of this directory"):
        ReferenceRunner(config=CONFIG).open(subject)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_narrow_directories_are_widened(tmp_path: Path, dtype: str) -> None:
    import ml_dtypes

    narrow = {n: v.astype(getattr(ml_dtypes, dtype, np.float16)) for n, v in stored().items()}
    from safetensors.numpy import save_file

    model_dir(tmp_path, stored())
    save_file(narrow, tmp_path / "model.safetensors")
    widened = {n: v.astype(F32) for n, v in narrow.items()}
    widened["lm_head.weight"] = widened["model.embed_tokens.weight"]
    expected = ReferenceRunner().start(OpenModel(CONFIG, widened)).run(CASE)
    opened = ReferenceRunner(config=CONFIG).open(Subject(model_dir=tmp_path))
    assert_same(observed(opened.run(CASE)), observed(expected))


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"model_type": "qwen2"}, UnsupportedModelError),
        ({"hidden_act": "gelu"}, UnsupportedModelError),
        ({"attention_bias": True}, UnsupportedModelError),
        ({"rope_scaling": {"rope_type": "yarn"}}, UnsupportedModelError),
        ({"rope_parameters": {"rope_type": "llama3", "rope_theta": 1e4}}, UnsupportedModelError),
        ({"rope_parameters": [1]}, ModelFilesError),
        ({"rope_parameters": "left out"}, ModelFilesError),
        ({"vocab_size": "left out"}, ModelFilesError),
        ({"vocab_size": True}, ModelFilesError),
        ({"vocab_size": 68}, ModelFilesError),
        ({"rms_norm_eps": "small"}, ModelFilesError),
        ({"rms_norm_eps": -1.0}, ModelFilesError),
        ({"num_attention_heads": 0}, ModelFilesError),
        ({"num_key_value_heads": 4}, ModelFilesError),
        ({"num_key_value_heads": "two"}, ModelFilesError),
        ({"head_dim": 9}, ModelFilesError),
        ({"head_dim": "ten"}, ModelFilesError),
        ({"eos_token_id": "two"}, ModelFilesError),
        ({"tie_word_embeddings": False}, ModelFilesError),
    ],
)
def test_a_directory_beyond_the_plain_family_is_refused(
    tmp_path: Path, changes: dict[str, Any], error: type[Exception]
) -> None:
    root = model_dir(tmp_path, stored(), **changes)
    with pytest.raises(error):
        open_subject(Subject(model_dir=root))


def test_unsound_directories_are_refused(tmp_path: Path) -> None:
    for subject in (Subject(), Subject(model_dir=tmp_path), Subject(artifact=tmp_path / "no.slm")):
        with pytest.raises(ModelFilesError):
            ReferenceRunner(config=CONFIG).open(subject)
    root = model_dir(tmp_path, stored())
    (root / "config.json").write_text("{", encoding="utf-8")
    with pytest.raises(JsonError):
        ReferenceRunner().open(Subject(model_dir=root))
    (root / "model.safetensors").write_bytes(b"\xff" * 40)
    with pytest.raises(SafetensorsError):
        ReferenceRunner(config=CONFIG).open(Subject(model_dir=root))


def test_integer_weights_are_refused(tmp_path: Path) -> None:
    tensors = stored() | {"model.norm.weight": np.ones(36, np.int32)}
    root = model_dir(tmp_path, tensors)
    with pytest.raises(UnsupportedModelError, match="I32"):
        ReferenceRunner(config=CONFIG).open(Subject(model_dir=root))


@pytest.mark.parametrize("name", [t.name for t in model_tensors(CONFIG)])
def test_each_missing_or_misshapen_tensor_is_named(name: str) -> None:
    tensors: dict[str, Any] = arrays()
    with pytest.raises(ModelFilesError, match=name):
        OpenModel(CONFIG, {**tensors, name: tensors[name][1:]})
    del tensors[name]
    with pytest.raises(ModelFilesError, match=name):
        OpenModel(CONFIG, tensors)


@pytest.mark.parametrize("changes", [{"attention_bias": True}, {"mlp_bias": True}])
def test_an_artifact_without_the_biases_that_it_declares_is_refused(
    changes: dict[str, Any], slm: Callable[..., Subject]
) -> None:
    with pytest.raises(ModelFilesError, match="bias' is missing"):
        ReferenceRunner().open(slm(**changes))


def test_a_configuration_with_missing_fields_is_refused(tmp_path: Path) -> None:
    row = CONFIG.to_map()
    path = tmp_path / "model.slm"
    for change in ({"attention_scale": None}, {"rope_inv_freq": ["a"] * 5},
                   {"rope_inv_freq": None}, {"attention_scale": "one"}):  # fmt: skip
        changed = {k: v for k, v in (row | change).items() if v is not None}
        data = tiny.write_slm(CONFIG, WEIGHTS, config_bytes=canon.encode(changed))
        path.write_bytes(data)
        with pytest.raises(ModelFilesError, match="configuration"):
            ReferenceRunner().open(Subject(artifact=path))


def test_an_unknown_profile_is_a_usage_error() -> None:
    with pytest.raises(UnknownNameError):
        ReferenceRunner("f16")


def test_weights_answer_by_name_and_rank() -> None:
    weights = ArrayWeights(arrays())
    with pytest.raises(ModelFilesError, match="missing"):
        weights.matrix("model.other.weight")
    with pytest.raises(ModelFilesError, match="not rank 1"):
        weights.vector("lm_head.weight")
