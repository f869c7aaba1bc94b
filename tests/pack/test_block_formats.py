"""Every profile from snapshot to artifact and back: storage, values, inspector, ledger."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from safetensors.numpy import load_file

from trlm_lab.base.model_parts import EMBEDDING, HEAD
from trlm_lab.base.records import EffectiveConfig
from trlm_lab.errors import QuantIndexError, SlmHashError
from trlm_lab.inspector import inspect, inspect_bytes
from trlm_lab.pack import pack_snapshot, prove_ledger, unpack
from trlm_lab.pack.artifact_file import map_file
from trlm_lab.pack.profile_choice import profile_of
from trlm_lab.pack.profiles import PROFILES
from trlm_lab.pack.residuals import measured
from trlm_lab.pack.source import open_sources
from trlm_lab.pack.weights import row_slices, sparse_of
from trlm_lab.slm.numbers import DType, Layout, ScaleEncoding
from trlm_lab.slm.read import SlmFile, open_slm
from trlm_lab.slm.verify import verify_all

from .conftest import Snapshot, Weights, tiny_config, tiny_weights

DOWN = "model.layers.1.mlp.down_proj.weight"


def spiked(config: EffectiveConfig) -> Weights:
    """Weights of which two matrices have a few large values, so that their loss is high."""
    weights = tiny_weights(config)
    rng = np.random.default_rng(9)
    for name in (DOWN, EMBEDDING):
        matrix = weights[name]
        for row in range(len(matrix)):
            matrix[row, rng.integers(0, matrix.shape[1])] *= 40
    return weights


def packed(
    snapshot: Snapshot, config: EffectiveConfig, weights: Weights, quant: str, out: Path
) -> SlmFile:
    artifact, _ = pack_snapshot(snapshot(weights), config, quant, out, b"tokens")
    slm = open_slm(map_file(artifact.path), where=out.name)
    verify_all(slm)
    return slm


@pytest.mark.parametrize("quant", list(PROFILES))
def test_there_and_back(snapshot: Snapshot, tmp_path: Path, quant: str) -> None:
    config = tiny_config()
    weights = spiked(config)
    slm = packed(snapshot, config, weights, quant, tmp_path / "m.slm")
    profile = PROFILES[quant]
    for tensor in slm.tensors:
        if tensor.descriptor.layout != Layout.dense:
            continue
        dtype = profile.dtype_of(tensor.role, tensor.dims)
        assert (tensor.dtype, tensor.scale_encoding) == (dtype, profile.scales_of(dtype))
        planes = profile.encoder(dtype)(np.atleast_2d(weights[tensor.name]), tensor.name, 0)
        assert (bytes(tensor.data), bytes(tensor.scales)) == tuple(map(bytes, planes))
    assert slm.tensor(HEAD).alias_of == EMBEDDING
    seen = inspect(tmp_path / "m.slm")
    assert seen.findings == ()
    unpack(tmp_path / "m.slm", tmp_path / "back.safetensors")
    back = load_file(tmp_path / "back.safetensors")
    for name, source in weights.items():
        near = whole(slm, name)
        assert back[name].tobytes() == near.tobytes()
        if quant == "f32" or source.ndim == 1:
            assert near.tobytes() == source.tobytes()
    root = snapshot(weights)
    assert profile_of(slm, open_sources(root, config)).name == quant
    ledger, found = prove_ledger(tmp_path / "m.slm", root)
    assert found == []
    made = {e.destination_name: e for e in ledger.entries}
    steps = {step.kind: step for step in made[DOWN].transforms}
    if quant != "f32":
        assert steps["quantize"].parameters["profile"] == quant
        assert ("pad" in steps) == (profile.matrices not in (DType.f16, DType.bf16))


def whole(slm: SlmFile, name: str) -> NDArray[np.float32]:
    tensor = slm.tensor(name)
    rows = np.concatenate(list(row_slices(tensor, slm.residual_of(name))))
    return rows.reshape(tensor.dims)


@pytest.mark.parametrize("quant", ["q4_g64-sparse-f16", "q4_g64-sparse-q8"])
def test_residuals_where_the_loss_calls_for_one(
    snapshot: Snapshot, tmp_path: Path, quant: str
) -> None:
    config = tiny_config()
    weights = spiked(config)
    slm = packed(snapshot, config, weights, quant, tmp_path / "m.slm")
    plain = packed(snapshot, config, weights, "q4_g64", tmp_path / "plain.slm")
    profile = PROFILES[quant]
    rule = profile.residual
    assert rule is not None
    sources = open_sources(snapshot(weights), config)
    names = [t.name for t in slm.tensors]
    for tensor in plain.tensors:
        if tensor.descriptor.layout != Layout.dense or tensor.dtype == DType.f32:
            continue
        found = measured(sources.parts[tensor.name], profile, DType.q4_g64, tensor.name)
        residual = slm.residual_of(tensor.name)
        assert (
            (residual is not None)
            == (found.loss > rule.loss_threshold)
            == (tensor.name in (DOWN, EMBEDDING))
        )
        if residual is None:
            continue
        assert names[names.index(tensor.name) + 1] == residual.name == tensor.name + ".residual"
        sparse = sparse_of(residual)
        assert 0 < sparse.nnz / (tensor.rows * tensor.cols) < 0.015
        source = weights[tensor.name]
        error = np.abs(source - whole(slm, tensor.name))
        before = np.abs(source - whole(plain, tensor.name))
        assert np.square(error).sum() < np.square(before).sum()
    assert slm.residual_of(HEAD) == slm.residual_of(EMBEDDING) is not None


def test_a_residual_that_was_changed_is_found(snapshot: Snapshot, tmp_path: Path) -> None:
    config = tiny_config()
    weights = spiked(config)
    path = tmp_path / "m.slm"
    slm = packed(snapshot, config, weights, "q4_g64-sparse-f16", path)
    place = slm.tensor(DOWN + ".residual").descriptor
    data = bytearray(path.read_bytes())
    column = place.data_off + 40 + 4 * (96 + 1)
    data[column : column + 2] = (200).to_bytes(2, "little")
    path.write_bytes(data)
    codes = {f.code for f in inspect_bytes(memoryview(data)).findings}
    assert codes == {"QUANT_INDEX", "SLM_HASH"}
    with pytest.raises(SlmHashError):
        unpack(path, tmp_path / "back.safetensors")
    broken = open_slm(bytes(data))
    with pytest.raises(QuantIndexError, match="expected below 200"):
        sparse_of(broken.tensor(DOWN + ".residual"))


def test_a_profile_is_told_by_its_bytes(snapshot: Snapshot, tmp_path: Path) -> None:
    """Search and absmax store alike; weights where both agree are absmax's."""
    config = tiny_config()
    weights = tiny_weights(config)
    sources = open_sources(snapshot(weights), config)
    searched = packed(snapshot, config, weights, "q5_g64-search", tmp_path / "a.slm")
    assert profile_of(searched, sources).name == "q5_g64-search"
    rounded = packed(snapshot, config, weights, "q5_g64", tmp_path / "b.slm")
    assert profile_of(rounded, sources).name == "q5_g64"


def test_mixed_roles_and_effective_bits(snapshot: Snapshot, tmp_path: Path) -> None:
    slm = packed(snapshot, tiny_config(), tiny_weights(tiny_config()), "mixed-q456", tmp_path / "m")
    for tensor in slm.tensors:
        six = tensor.role.name in ("embedding", "lm_head", "o_proj", "down_proj")
        want = DType.f32 if len(tensor.dims) == 1 else DType.q6_g64 if six else DType.q5_g64
        assert tensor.dtype == want, tensor.name
        scales = ScaleEncoding.none if want == DType.f32 else ScaleEncoding.fp16
        assert tensor.scale_encoding == scales
