"""Artifact back to float32 safetensors, and the derived model directory."""

import json
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file

from tests.q8_decoder import decode_q8_r128
from trlm_lab.base.blobs import file_sha256
from trlm_lab.base.model_parts import EMBEDDING, HEAD
from trlm_lab.base.records import EffectiveConfig
from trlm_lab.errors import PathMissingError, SlmHashError, SlmTruncatedError
from trlm_lab.pack import derive_model_dir, pack_snapshot, unpack
from trlm_lab.pack.artifact_file import map_file
from trlm_lab.slm.read import open_slm

from .conftest import Snapshot, Weights, tiny_config, tiny_weights


def test_f32_gives_the_source_back(
    snapshot: Snapshot, weights: Weights, config: EffectiveConfig, tmp_path: Path
) -> None:
    artifact, _ = pack_snapshot(snapshot(weights), config, "f32", tmp_path / "m.slm")
    digest = unpack(artifact.path, tmp_path / "x" / "back.safetensors")
    assert digest == file_sha256(tmp_path / "x" / "back.safetensors")
    got = load_file(tmp_path / "x" / "back.safetensors")
    assert set(got) == set(weights)
    for name, values in weights.items():
        assert got[name].dtype == np.float32
        np.testing.assert_array_equal(got[name], values)


def test_q8_gives_what_an_independent_decoder_reads(
    snapshot: Snapshot, weights: Weights, config: EffectiveConfig, tmp_path: Path
) -> None:
    artifact, _ = pack_snapshot(snapshot(weights), config, "q8_r128", tmp_path / "m.slm")
    unpack(artifact.path, tmp_path / "back.safetensors")
    got = load_file(tmp_path / "back.safetensors")
    slm = open_slm(map_file(artifact.path))
    quantized = [t for t in slm.tensors if t.name in got and len(t.dims) == 2]
    assert len(quantized) == 15
    for t in quantized:
        want = decode_q8_r128(bytes(t.data), bytes(t.scales), t.rows, t.cols)
        assert got[t.name].tobytes() == want.tobytes()


def test_untied_head_is_written(snapshot: Snapshot, tmp_path: Path) -> None:
    config = tiny_config(tie_word_embeddings=False)
    weights = tiny_weights(config)
    artifact, _ = pack_snapshot(snapshot(weights), config, "f32", tmp_path / "m.slm")
    unpack(artifact.path, tmp_path / "back.safetensors")
    np.testing.assert_array_equal(load_file(tmp_path / "back.safetensors")[HEAD], weights[HEAD])


def test_a_damaged_artifact_gives_no_file(
    snapshot: Snapshot, weights: Weights, config: EffectiveConfig, tmp_path: Path
) -> None:
    artifact, _ = pack_snapshot(snapshot(weights), config, "f32", tmp_path / "m.slm")
    data = artifact.path.read_bytes()
    out = tmp_path / "out" / "back.safetensors"
    bad = tmp_path / "bad.slm"
    for content, error in ((data[:-1] + b"\x55", SlmHashError), (b"", SlmTruncatedError)):
        bad.write_bytes(content)
        with pytest.raises(error):
            unpack(bad, out)
        assert not out.exists()
    with pytest.raises(PathMissingError):
        unpack(tmp_path / "none.slm", out)


def derived(snapshot: Snapshot, weights: Weights, tmp_path: Path) -> tuple[Path, Path, Path]:
    root = snapshot(weights)
    artifact, _ = pack_snapshot(root, tiny_config(), "q8_r128", tmp_path / "m.slm")
    return root, artifact.path, derive_model_dir(root, artifact.path, tmp_path / "d" / "model")


def test_derived_directory(snapshot: Snapshot, weights: Weights, tmp_path: Path) -> None:
    root, artifact, target = derived(snapshot, weights, tmp_path)
    names = {p.name for p in target.iterdir()}
    assert names == {"config.json", "LICENSE", "model.safetensors", "derived.json"}
    assert (target / "config.json").read_bytes() == (root / "config.json").read_bytes()
    row = json.loads((target / "derived.json").read_text())
    assert row["artifact_sha256"] == file_sha256(artifact)
    assert row["weights_sha256"] == file_sha256(target / "model.safetensors")
    assert set(load_file(target / "model.safetensors")) == set(weights)
    assert [p.name for p in target.parent.iterdir()] == ["model"]


def test_derived_directory_is_reused_only_intact(
    snapshot: Snapshot, weights: Weights, tmp_path: Path
) -> None:
    root, artifact, target = derived(snapshot, weights, tmp_path)
    file = target / "model.safetensors"
    sound, made = file.read_bytes(), file.stat().st_ino
    derive_model_dir(root, artifact, target)
    assert file.stat().st_ino == made
    damages = (
        lambda: file.write_bytes(sound[:-1] + b"\x77"),
        lambda: (target / "config.json").write_text("{}"),
        lambda: (target / "extra").write_text(""),
        lambda: (target / "derived.json").write_text("[]"),
        lambda: (target / "derived.json").unlink(),
        lambda: (root / "config.json").write_text('{"other": 1}'),
    )
    for damage in damages:
        made = file.stat().st_ino
        damage()
        assert derive_model_dir(root, artifact, target) == target
        assert file.read_bytes() == sound
        assert (target / "config.json").read_bytes() == (root / "config.json").read_bytes()
        assert not (target / "extra").exists()
        assert file.stat().st_ino != made


def test_embedding_row_of_zeros_survives(
    snapshot: Snapshot, weights: Weights, tmp_path: Path
) -> None:
    *_, target = derived(snapshot, weights, tmp_path)
    row = load_file(target / "model.safetensors")[EMBEDDING][3]
    assert row.tobytes() == bytes(4 * 96)
