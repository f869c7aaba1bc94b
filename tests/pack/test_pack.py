"""Snapshot to artifact: values, layout, ledger and determinism."""

import hashlib
import tracemalloc
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
from numpy.typing import NDArray

from trlm_lab.base import canon
from trlm_lab.base.model_parts import EMBEDDING, FINAL_NORM, HEAD
from trlm_lab.base.records import Artifact, EffectiveConfig, Ledger, LedgerEntry
from trlm_lab.pack import pack_snapshot, quant_profile_id
from trlm_lab.pack.artifact_file import map_file
from trlm_lab.pack.weights import row_slices
from trlm_lab.quant import FORMATS
from trlm_lab.slm.numbers import DType, Role, TensorFlag
from trlm_lab.slm.read import SlmFile, SlmTensor, open_slm
from trlm_lab.slm.verify import verify_all

from .conftest import Snapshot, Weights, tiny_config, tiny_weights

QUANTS = ("f32", "q8_r128")


def opened(artifact: Artifact) -> SlmFile:
    slm = open_slm(map_file(artifact.path), where=artifact.path.name)
    verify_all(slm)
    return slm


@pytest.fixture(params=QUANTS)
def packed(
    request: pytest.FixtureRequest,
    snapshot: Snapshot,
    weights: Weights,
    config: EffectiveConfig,
    tmp_path: Path,
) -> tuple[Artifact, Ledger]:
    return pack_snapshot(snapshot(weights), config, request.param, tmp_path / "m.slm", b"tokens")


def whole_f32(tensor: SlmTensor) -> NDArray[np.float32]:
    """All rows of a tensor, in its own shape."""
    return np.concatenate(list(row_slices(tensor))).reshape(tensor.dims)


def test_artifact_record_is_the_file(packed: tuple[Artifact, Ledger]) -> None:
    artifact, _ = packed
    data = artifact.path.read_bytes()
    slm = opened(artifact)
    assert artifact.file_sha256 == hashlib.sha256(data).hexdigest()
    assert artifact.self_sha256 == slm.header.self_sha256.hex()
    assert artifact.merkle_root == slm.header.merkle_root_sha256.hex()
    assert artifact.size == len(data)
    assert EffectiveConfig.from_map(slm.config) == artifact.config
    assert bytes(slm.tokenizer) == b"tokens"


def test_roles_order_and_dtypes(packed: tuple[Artifact, Ledger]) -> None:
    artifact, _ = packed
    slm = opened(artifact)
    names = [t.name for t in slm.tensors]
    assert names[:3] == [
        "model.embed_tokens.weight",
        "model.layers.0.input_layernorm.weight",
        "model.layers.0.self_attn.q_proj.weight",
    ]
    assert names[-2:] == ["model.norm.weight", "lm_head.weight"]
    roles = [t.role for t in slm.tensors]
    layer = [Role.attn_norm, Role.q_proj, Role.k_proj, Role.v_proj, Role.o_proj, Role.mlp_norm,
             Role.gate_proj, Role.up_proj, Role.down_proj]  # fmt: skip
    assert roles == [Role.embedding, *layer, *layer, Role.final_norm, Role.lm_head]
    for tensor in slm.tensors:
        matrix = DType[artifact.quant_profile]
        assert tensor.dtype == (matrix if len(tensor.dims) == 2 else DType.f32)


def test_tied_head_is_an_alias(packed: tuple[Artifact, Ledger]) -> None:
    head = opened(packed[0]).tensor(HEAD)
    assert (head.alias_of, head.flags) == (EMBEDDING, TensorFlag.tied)


def test_values(packed: tuple[Artifact, Ledger], weights: Weights) -> None:
    artifact, _ = packed
    slm = opened(artifact)
    for name, source in weights.items():
        want = source
        if artifact.quant_profile == "q8_r128" and source.ndim == 2:
            codes, scales = FORMATS["q8_r128"].quantize(source)
            want = FORMATS["q8_r128"].dequantize(
                memoryview(codes), memoryview(scales), *source.shape
            )
        np.testing.assert_array_equal(whole_f32(slm.tensor(name)), want, err_msg=name)


def test_row_slices_are_the_tensor(
    packed: tuple[Artifact, Ledger], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("trlm_lab.pack.weights.SLICE_ELEMENTS", 700)
    for tensor in opened(packed[0]).tensors:
        cut = list(row_slices(tensor))
        monkeypatch.setattr("trlm_lab.pack.weights.SLICE_ELEMENTS", tensor.rows * tensor.cols)
        (whole,) = row_slices(tensor)
        monkeypatch.setattr("trlm_lab.pack.weights.SLICE_ELEMENTS", 700)
        assert len(cut) > 1 or whole.size <= 700
        np.testing.assert_array_equal(np.concatenate(cut), whole)


def entry(ledger: Ledger, name: str) -> LedgerEntry:
    return next(e for e in ledger.entries if e.destination_name == name)


def test_ledger_is_checked_by_the_files_alone(
    packed: tuple[Artifact, Ledger], snapshot: Snapshot, weights: Weights
) -> None:
    artifact, ledger = packed
    source = (snapshot(weights) / "model.safetensors").read_bytes()
    file = artifact.path.read_bytes()
    slm = opened(artifact)
    assert [e.destination_name for e in ledger.entries] == [t.name for t in slm.tensors]
    for e, tensor in zip(ledger.entries, slm.tensors, strict=True):
        begin, end = e.source_range
        assert hashlib.sha256(source[begin:end]).hexdigest() == e.source_sha256
        assert source[begin:end] == weights[e.source_name].tobytes()
        assert (e.role, e.destination_dtype) == (tensor.role.name, tensor.dtype.name)
        stored = bytes(tensor.data) + bytes(tensor.scales)
        assert hashlib.sha256(stored).hexdigest() == e.destination_sha256
        first, last = e.destination_range
        assert file[first : first + len(tensor.data)] == bytes(tensor.data)
        assert file[last - len(tensor.scales) : last] == bytes(tensor.scales)
    assert Ledger.from_map(canon.decode(canon.encode(ledger.to_map()))) == ledger


def test_ledger_transforms(packed: tuple[Artifact, Ledger]) -> None:
    artifact, ledger = packed
    kinds = {e.destination_name: [t.kind for t in e.transforms] for e in ledger.entries}
    assert kinds[FINAL_NORM] == ["copy"]
    assert kinds[HEAD] == ["alias"]
    assert entry(ledger, HEAD).transforms[0].parameters == {"target": EMBEDDING}
    assert len(ledger.exceptions) == 1
    assert ledger.omissions == ()
    if artifact.quant_profile == "f32":
        assert kinds[EMBEDDING] == ["copy"]
        return
    step, pad = entry(ledger, EMBEDDING).transforms
    assert (pad.kind, pad.parameters["logical"]) == ("pad", [50, 96])
    assert (pad.parameters["physical"], pad.parameters["fill"]) == ([50, 128], "code 0")
    assert step.kind == "quantize"
    assert step.parameters["profile_id"] == quant_profile_id("q8_r128")
    low, high = step.parameters["scales_range"]
    scales = opened(artifact).tensor(EMBEDDING).scales
    assert artifact.path.read_bytes()[low:high] == bytes(scales)


def test_second_run_replaces_the_file_with_the_same_bytes(
    packed: tuple[Artifact, Ledger], snapshot: Snapshot, weights: Weights, config: EffectiveConfig
) -> None:
    artifact, _ = packed
    before = artifact.path.read_bytes()
    again = pack_snapshot(
        snapshot(weights), config, artifact.quant_profile, artifact.path, b"tokens"
    )
    assert again == packed
    assert artifact.path.read_bytes() == before
    assert [p.name for p in artifact.path.parent.iterdir() if p.is_file()] == ["m.slm"]


def test_slices_do_not_show_in_the_bytes(
    packed: tuple[Artifact, Ledger],
    snapshot: Snapshot,
    weights: Weights,
    config: EffectiveConfig,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("trlm_lab.pack.source.SLICE_ELEMENTS", 1000)
    other, _ = pack_snapshot(
        snapshot(weights), config, packed[0].quant_profile, tmp_path / "o.slm", b"tokens"
    )
    assert other.file_sha256 == packed[0].file_sha256


def test_untied_head_is_stored(snapshot: Snapshot, tmp_path: Path) -> None:
    config = tiny_config(tie_word_embeddings=False)
    weights = tiny_weights(config)
    artifact, ledger = pack_snapshot(snapshot(weights), config, "f32", tmp_path / "m.slm")
    head = opened(artifact).tensor(HEAD)
    assert (head.alias_of, head.flags) == (None, 0)
    np.testing.assert_array_equal(whole_f32(head), weights[HEAD])
    assert ledger.exceptions == ()


def test_identical_head_beside_the_tied_flag(
    snapshot: Snapshot, weights: Weights, config: EffectiveConfig, tmp_path: Path
) -> None:
    alone, _ = pack_snapshot(snapshot(weights), config, "f32", tmp_path / "a.slm")
    both = weights | {HEAD: weights[EMBEDDING].copy()}
    artifact, ledger = pack_snapshot(snapshot(both), config, "f32", tmp_path / "b.slm")
    assert artifact.file_sha256 == alone.file_sha256
    assert entry(ledger, HEAD).source_name == HEAD
    assert "kept as an alias" in ledger.exceptions[0]


def test_half_types_widen_exactly(
    snapshot: Snapshot, weights: Weights, config: EffectiveConfig, tmp_path: Path
) -> None:
    mixed: Weights = dict(weights)
    mixed[EMBEDDING] = weights[EMBEDDING].astype(ml_dtypes.bfloat16)
    mixed[FINAL_NORM] = weights[FINAL_NORM].astype(np.float16)
    artifact, ledger = pack_snapshot(snapshot(mixed), config, "f32", tmp_path / "m.slm")
    slm = opened(artifact)
    for name in (EMBEDDING, FINAL_NORM):
        want = mixed[name].astype(np.float32)
        np.testing.assert_array_equal(whole_f32(slm.tensor(name)), want)
        step = entry(ledger, name).transforms[0]
        assert (step.kind, step.parameters["to"]) == ("widen", "F32")


def test_memory_does_not_grow_with_the_matrix(
    snapshot: Snapshot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = tiny_config(vocab_size=20_000)
    root = snapshot(tiny_weights(config))
    for room in ("source", "weights"):
        monkeypatch.setattr(f"trlm_lab.pack.{room}.SLICE_ELEMENTS", 1 << 14)
    pack_snapshot(root, config, "q8_r128", tmp_path / "m.slm")  # imports and caches, untraced
    tracemalloc.start()
    pack_snapshot(root, config, "q8_r128", tmp_path / "m.slm")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    embedding = 20_000 * 96 * 4
    assert peak < embedding / 3


def test_progress_reaches_the_end(
    snapshot: Snapshot, weights: Weights, config: EffectiveConfig, tmp_path: Path
) -> None:
    calls: list[tuple[str, int, int]] = []
    pack_snapshot(
        snapshot(weights), config, "f32", tmp_path / "m.slm",
        progress=lambda what, done, total: calls.append((what, done, total)),
    )  # fmt: skip
    assert calls[:22] == [("pack f32", i, 21) for i in range(22)]
    assert calls[22:] == [("ledger", i, 21) for i in range(22)]
