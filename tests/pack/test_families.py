"""Nine families there and back: every source tensor returns, and the ledger says by which steps."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from tests.pack.tiny_described import Described
from tests.q8_decoder import decode_q8_r128
from tests.tiny_models import FAMILIES
from trlm_lab.base.model_parts import HEAD, model_tensors
from trlm_lab.base.records import Ledger, LedgerEntry
from trlm_lab.errors import PackDuplicateError, PackShapeError, PackShardError
from trlm_lab.inspector import inspect
from trlm_lab.inspector.model import check_model
from trlm_lab.inspector.report import Report
from trlm_lab.pack import derive_ledger, pack_snapshot, prove_ledger, unpack
from trlm_lab.pack.artifact_file import map_file
from trlm_lab.slm.read import open_slm

Tiny = Callable[[str], Described]


def entry(ledger: Ledger, name: str) -> LedgerEntry:
    return next(e for e in ledger.entries if e.destination_name == name)


def kinds(ledger: Ledger, name: str) -> list[str]:
    return [step.kind for step in entry(ledger, name).transforms]


@pytest.mark.parametrize("family", FAMILIES)
def test_f32_gives_the_source_file_back(tiny_described: Tiny, tmp_path: Path, family: str) -> None:
    tiny = tiny_described(family)
    artifact, ledger = pack_snapshot(tiny.root, tiny.config, "f32", tmp_path / "m.slm")
    assert [e.destination_name for e in ledger.entries] == [
        t.name for t in model_tensors(tiny.config)
    ]
    unpack(artifact.path, tmp_path / "back.safetensors")
    got, want = load_file(tmp_path / "back.safetensors"), load_file(tiny.root / "model.safetensors")
    assert set(got) == set(want)
    for name, values in want.items():
        assert got[name].shape == values.shape
        assert got[name].tobytes() == values.tobytes()
    assert all(e.probes.source == e.probes.destination for e in ledger.entries)
    assert all(a == b for e in ledger.entries for _, a, b in e.probes.elements)
    assert Ledger.from_map(ledger.to_map()) == ledger


@pytest.mark.parametrize("family", ["gpt2", "phi3"])
def test_q8_is_joined_and_turned_back_too(
    tiny_described: Tiny, tmp_path: Path, family: str
) -> None:
    tiny = tiny_described(family)
    artifact, ledger = pack_snapshot(tiny.root, tiny.config, "q8_r128", tmp_path / "m.slm")
    unpack(artifact.path, tmp_path / "back.safetensors")
    got, slm = load_file(tmp_path / "back.safetensors"), open_slm(map_file(artifact.path))
    for one in ledger.entries:
        whole = got[one.source_name] if one.destination_name != HEAD else None
        tensor = slm.tensor(one.destination_name)
        if whole is None or len(tensor.dims) == 1:
            continue
        turned = whole.T if one.transforms[0].kind == "transpose" else whole
        first = next((s.parameters["first"] for s in one.transforms if s.kind == "rows"), 0)
        want = decode_q8_r128(bytes(tensor.data), bytes(tensor.scales), tensor.rows, tensor.cols)
        np.testing.assert_array_equal(turned[first : first + tensor.rows], want)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("quant", ["f32", "q8_r128"])
def test_the_ledger_is_proved(
    tiny_described: Tiny, tmp_path: Path, family: str, quant: str
) -> None:
    tiny = tiny_described(family)
    artifact, ledger = pack_snapshot(tiny.root, tiny.config, quant, tmp_path / "m.slm")
    derived, findings = prove_ledger(artifact.path, tiny.root, ledger)
    assert (derived, findings) == (ledger, [])
    assert list(inspect(artifact.path).findings) == []


def test_a_square_matrix_is_transposed_where_the_family_says_so(
    tiny_described: Tiny, tmp_path: Path
) -> None:
    """A missing transposition of c_proj, 48 by 48, does not show in any shape."""
    tiny = tiny_described("gpt2")
    _, ledger = pack_snapshot(tiny.root, tiny.config, "f32", tmp_path / "m.slm")
    name = "model.layers.1.self_attn.o_proj.weight"
    square = entry(ledger, name)
    assert square.source_shape == square.destination_shape == (48, 48)
    assert kinds(ledger, name) == ["transpose", "copy"]
    stored = load_file(tiny.root / "model.safetensors")["transformer.h.1.attn.c_proj.weight"]
    flat, bits, _ = square.probes.elements[1]
    row, col = divmod(flat, 48)
    assert int(stored[col, row].view(np.uint32)) == bits
    assert kinds(ledger, "model.embed_tokens.weight") == ["copy"]


def test_splits_declare_order_and_heads(tiny_described: Tiny, tmp_path: Path) -> None:
    tiny = tiny_described("phi3")
    _, ledger = pack_snapshot(tiny.root, tiny.config, "f32", tmp_path / "m.slm")
    steps = entry(ledger, "model.layers.0.self_attn.k_proj.weight").transforms
    assert steps[0].parameters == {
        "first": 64, "count": 32, "part": "k_proj", "of": ["q_proj", "k_proj", "v_proj"],
        "heads": 2, "head_dim": 16,
    }  # fmt: skip
    up = entry(ledger, "model.layers.0.mlp.up_proj.weight").transforms[0].parameters
    assert (up["first"], up["count"], up["of"]) == (80, 80, ["gate_proj", "up_proj"])
    split = [text for text in ledger.exceptions if "is split into" in text]
    assert len(split) == 4


@pytest.mark.parametrize("family", ["gpt2", "phi3"])
def test_blocks_do_not_show_in_the_bytes(
    tiny_described: Tiny, tmp_path: Path, family: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    tiny = tiny_described(family)
    whole, ledger = pack_snapshot(tiny.root, tiny.config, "q8_r128", tmp_path / "a.slm")
    for room in ("source", "weights", "inverse"):
        monkeypatch.setattr(f"trlm_lab.pack.{room}.SLICE_ELEMENTS", 700)
    cut, again = pack_snapshot(tiny.root, tiny.config, "q8_r128", tmp_path / "b.slm")
    assert (cut.file_sha256, again) == (whole.file_sha256, ledger)
    dense, _ = pack_snapshot(tiny.root, tiny.config, "f32", tmp_path / "c.slm")
    unpack(dense.path, tmp_path / "back.safetensors")
    want = load_file(tiny.root / "model.safetensors")
    for name, values in load_file(tmp_path / "back.safetensors").items():
        np.testing.assert_array_equal(values, want[name], err_msg=name)


def bare_gpt2(root: Path) -> dict[str, np.ndarray]:
    """The tensors under the published names: no prefix, and masks beside them."""
    weights = load_file(root / "model.safetensors")
    bare = {name.removeprefix("transformer."): value for name, value in weights.items()}
    mask = np.tril(np.ones((1, 1, 64, 64), np.float32))
    return bare | {f"h.{layer}.attn.bias": mask for layer in range(2)}


def test_masks_of_a_published_gpt2_are_left_out_with_a_reason(
    tiny_described: Tiny, tmp_path: Path
) -> None:
    tiny = tiny_described("gpt2")
    save_file(bare_gpt2(tiny.root), tmp_path / "model.safetensors")
    plain, _ = pack_snapshot(tiny.root, tiny.config, "q8_r128", tmp_path / "a.slm")
    artifact, ledger = pack_snapshot(tmp_path, tiny.config, "q8_r128", tmp_path / "b.slm")
    assert artifact.file_sha256 == plain.file_sha256
    assert [one.source_name for one in ledger.omissions] == ["h.0.attn.bias", "h.1.attn.bias"]
    assert all("mask" in one.reason for one in ledger.omissions)
    assert prove_ledger(artifact.path, tmp_path, ledger)[1] == []


def sharded(weights: dict[str, np.ndarray], root: Path, count: int) -> Path:
    root.mkdir()
    names = sorted(weights)
    for shard in range(count):
        part = {name: weights[name] for name in names[shard::count]}
        save_file(part, root / f"model-{shard + 1:05d}-of-{count:05d}.safetensors")
    return root


def test_shards_are_one_source(tiny_described: Tiny, tmp_path: Path) -> None:
    tiny = tiny_described("qwen3")
    weights = load_file(tiny.root / "model.safetensors")
    root = sharded(weights, tmp_path / "shards", 3)
    one, _ = pack_snapshot(tiny.root, tiny.config, "f32", tmp_path / "a.slm")
    artifact, ledger = pack_snapshot(root, tiny.config, "f32", tmp_path / "b.slm")
    assert artifact.file_sha256 == one.file_sha256
    assert len({e.source_file for e in ledger.entries}) == 3
    assert prove_ledger(artifact.path, root, ledger)[1] == []
    assert derive_ledger(artifact.path, tiny.root).exceptions == ledger.exceptions


def test_pack_shard_error(tiny_described: Tiny, tmp_path: Path) -> None:
    tiny = tiny_described("qwen3")
    weights = load_file(tiny.root / "model.safetensors")
    root = sharded(weights, tmp_path / "shards", 3)
    (root / "model-00002-of-00003.safetensors").unlink()
    with pytest.raises(PackShardError, match=r"\[1, 3\] are not those from 1 to 3"):
        pack_snapshot(root, tiny.config, "f32", tmp_path / "m.slm")
    save_file(weights, root / "model.safetensors")
    with pytest.raises(PackShardError, match="beside numbered shards"):
        pack_snapshot(root, tiny.config, "f32", tmp_path / "m.slm")


def test_pack_duplicate_error(tiny_described: Tiny, tmp_path: Path) -> None:
    tiny = tiny_described("qwen3")
    weights = load_file(tiny.root / "model.safetensors")
    root = sharded(weights, tmp_path / "shards", 2)
    save_file({HEAD: weights[HEAD]}, root / "model-00001-of-00002.safetensors")
    both = {name: weights[name] for name in sorted(weights)[1::2]} | {HEAD: weights[HEAD]}
    save_file(both, root / "model-00002-of-00002.safetensors")
    with pytest.raises(PackDuplicateError, match=HEAD):
        pack_snapshot(root, tiny.config, "f32", tmp_path / "m.slm")


def test_a_shape_is_never_guessed_from_a_count(tiny_described: Tiny, tmp_path: Path) -> None:
    tiny = tiny_described("phi3")
    weights = load_file(tiny.root / "model.safetensors")
    name = "model.layers.0.self_attn.qkv_proj.weight"
    weights[name] = weights[name].reshape(64, 96)
    save_file(weights, tmp_path / "model.safetensors")
    with pytest.raises(PackShapeError, match="qkv_proj"):
        pack_snapshot(tmp_path, tiny.config, "f32", tmp_path / "m.slm")


@pytest.mark.parametrize("family", ["gpt2", "qwen2"])
def test_half_types_return_as_they_were(tiny_described: Tiny, tmp_path: Path, family: str) -> None:
    tiny = tiny_described(family)
    weights = load_file(tiny.root / "model.safetensors")
    halves = {name: value.astype(np.float16) for name, value in weights.items()}
    save_file(halves, tmp_path / "model.safetensors")
    artifact, ledger = pack_snapshot(tmp_path, tiny.config, "f32", tmp_path / "m.slm")
    assert "widen" in kinds(ledger, "model.norm.weight")
    assert prove_ledger(artifact.path, tmp_path, ledger)[1] == []


#: What a configuration says otherwise, and what the inspector then objects to.
OTHER_MODELS: list[tuple[dict[str, object], tuple[str, ...]]] = [
    ({}, ()),
    ({"attention_out_bias": False}, ("tensor model.layers.0.self_attn.o_proj.bias",)),
    ({"rope_order": "half_split"}, ("tensor model.embed_positions.weight",)),
    ({"mlp_gated": True}, ("layers.0.mlp.gate_proj.bias, model.layers.0.mlp.gate_proj.weight",)),
    (
        {"qk_norm": "head"},
        ("model.layers.0.self_attn.k_norm.weight, model.layers.0.self_attn.q_norm.weight",),
    ),
]


@pytest.mark.parametrize(("changes", "said"), OTHER_MODELS)
def test_the_inspector_knows_the_tensors_of_a_model(
    tiny_described: Tiny, tmp_path: Path, changes: dict[str, object], said: tuple[str, ...]
) -> None:
    tiny = tiny_described("gpt2")
    artifact, _ = pack_snapshot(tiny.root, tiny.config, "f32", tmp_path / "m.slm")
    report = Report(memoryview(b""))
    check_model(report, tiny.config.to_map() | changes, inspect(artifact.path).tensors)
    found = [f"{finding.where}: {finding.detail}" for finding in report.findings]
    assert bool(found) is bool(said)
    assert all(any(text in line for line in found) for text in said), found
