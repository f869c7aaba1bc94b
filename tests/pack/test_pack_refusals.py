"""Sources that are not packed: nothing is left behind, an older file stays."""

from pathlib import Path

import numpy as np
import pytest

from trlm_lab.base.model_parts import EMBEDDING, FINAL_NORM, HEAD
from trlm_lab.base.records import EffectiveConfig
from trlm_lab.errors import (
    NonFiniteError,
    PackDtypeError,
    PackMissingTensorError,
    PackShapeError,
    PackSourceError,
    PackTiedHeadError,
    PackUnknownTensorError,
    QuantNonFiniteError,
    SafetensorsTruncatedError,
    UnknownNameError,
)
from trlm_lab.pack import pack_snapshot

from .conftest import Snapshot, Weights, tiny_config


def leaves_nothing(tmp_path: Path, root: Path, config: EffectiveConfig, quant: str) -> None:
    out = tmp_path / "out" / "m.slm"
    out.parent.mkdir()
    out.write_bytes(b"older")
    try:
        pack_snapshot(root, config, quant, out)
    finally:
        assert [p.name for p in out.parent.iterdir()] == ["m.slm"]
        assert out.read_bytes() == b"older"


def test_pack_unknown_tensor_error(
    snapshot: Snapshot, weights: Weights, config: EffectiveConfig, tmp_path: Path
) -> None:
    extra = weights | {"model.layers.2.input_layernorm.weight": np.ones(96, np.float32)}
    with pytest.raises(PackUnknownTensorError, match=r"model.layers.2.input_layernorm"):
        leaves_nothing(tmp_path, snapshot(extra), config, "f32")


def test_pack_missing_tensor_error(
    snapshot: Snapshot, weights: Weights, config: EffectiveConfig, tmp_path: Path
) -> None:
    del weights["model.layers.1.mlp.up_proj.weight"]
    with pytest.raises(PackMissingTensorError, match=r"model.layers.1.mlp.up_proj.weight"):
        leaves_nothing(tmp_path, snapshot(weights), config, "f32")


def test_pack_missing_tensor_error_untied_head(
    snapshot: Snapshot, weights: Weights, tmp_path: Path
) -> None:
    config = tiny_config(tie_word_embeddings=False)
    with pytest.raises(PackMissingTensorError, match=HEAD):
        leaves_nothing(tmp_path, snapshot(weights), config, "f32")


def test_pack_shape_error(
    snapshot: Snapshot, weights: Weights, config: EffectiveConfig, tmp_path: Path
) -> None:
    name = "model.layers.0.mlp.down_proj.weight"
    weights[name] = np.ascontiguousarray(weights[name].T)
    with pytest.raises(PackShapeError, match=r"\[200, 96\].*\[96, 200\]"):
        leaves_nothing(tmp_path, snapshot(weights), config, "f32")


def test_pack_dtype_error(
    snapshot: Snapshot, weights: Weights, config: EffectiveConfig, tmp_path: Path
) -> None:
    weights[FINAL_NORM] = weights[FINAL_NORM].astype(np.float64)
    with pytest.raises(PackDtypeError, match="F64"):
        leaves_nothing(tmp_path, snapshot(weights), config, "f32")


def test_pack_tied_head_error(
    snapshot: Snapshot, weights: Weights, config: EffectiveConfig, tmp_path: Path
) -> None:
    head = weights[EMBEDDING].copy()
    head[49, 95] = np.nextafter(head[49, 95], np.float32(9))
    with pytest.raises(PackTiedHeadError) as caught:
        leaves_nothing(tmp_path, snapshot(weights | {HEAD: head}), config, "f32")
    last = 4 * 50 * 96 - 4
    assert last <= caught.value.facts["byte"] < last + 4


def test_pack_tied_head_error_other_dtype(
    snapshot: Snapshot, weights: Weights, config: EffectiveConfig, tmp_path: Path
) -> None:
    head = weights[EMBEDDING].astype(np.float16)
    with pytest.raises(PackTiedHeadError):
        leaves_nothing(tmp_path, snapshot(weights | {HEAD: head}), config, "f32")


def test_pack_source_error(config: EffectiveConfig, tmp_path: Path) -> None:
    with pytest.raises(PackSourceError, match=r"model.safetensors"):
        leaves_nothing(tmp_path, tmp_path, config, "f32")


def test_truncated_source(
    snapshot: Snapshot, weights: Weights, config: EffectiveConfig, tmp_path: Path
) -> None:
    root = snapshot(weights)
    file = root / "model.safetensors"
    file.write_bytes(file.read_bytes()[:-1])
    with pytest.raises(SafetensorsTruncatedError):
        leaves_nothing(tmp_path, root, config, "f32")


def test_unknown_profile(
    snapshot: Snapshot, weights: Weights, config: EffectiveConfig, tmp_path: Path
) -> None:
    with pytest.raises(UnknownNameError, match="q9"):
        leaves_nothing(tmp_path, snapshot(weights), config, "q9")


@pytest.mark.parametrize(
    ("quant", "error"), [("f32", NonFiniteError), ("q8_r128", QuantNonFiniteError)]
)
def test_non_finite_weight(
    snapshot: Snapshot,
    weights: Weights,
    config: EffectiveConfig,
    tmp_path: Path,
    quant: str,
    error: type[Exception],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("trlm_lab.pack.source.SLICE_ELEMENTS", 1000)
    name = "model.layers.1.mlp.up_proj.weight"
    weights[name][150, 7] = np.inf
    with pytest.raises(error) as caught:
        leaves_nothing(tmp_path, snapshot(weights), config, quant)
    text = str(caught.value)
    assert name in text
    assert "150" in text
    assert "7" in text


def test_non_finite_norm_is_refused_in_every_profile(
    snapshot: Snapshot, weights: Weights, config: EffectiveConfig, tmp_path: Path
) -> None:
    weights[FINAL_NORM][5] = np.nan
    with pytest.raises(NonFiniteError, match=r"\(0, 5\)"):
        leaves_nothing(tmp_path, snapshot(weights), config, "q8_r128")
