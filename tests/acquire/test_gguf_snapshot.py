"""GGUF files of the llama architecture become Hugging Face snapshots."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from trlm_lab import errors
from trlm_lab.acquire import acquire, check_gguf
from trlm_lab.acquire.gguf_tensors import source_rows
from trlm_lab.base import strict_json
from trlm_lab.base.records import Snapshot
from trlm_lab.base.safetensors_header import map_tensor, read_header

Make = Callable[..., Any]


def stored(snapshot: Snapshot) -> dict[str, np.ndarray]:
    path = snapshot.root / "model.safetensors"
    return {t.name: map_tensor(path, t) for t in read_header(path)}


def interleaved(matrix: np.ndarray, heads: int) -> np.ndarray:
    """What the GGUF converter does to Q and K, spelled with reshapes."""
    rows, cols = matrix.shape
    return matrix.reshape(heads, 2, rows // heads // 2, cols).swapaxes(1, 2).reshape(rows, cols)


def test_every_tensor_is_the_dequantized_one(small_gguf: Make) -> None:
    types = {
        "token_embd.weight": "Q8_0", "blk.0.attn_q.weight": "Q4_1", "blk.0.attn_v.weight": "Q4_0",
        "blk.1.ffn_up.weight": "F16", "blk.1.ffn_gate.weight": "BF16",
        "blk.1.attn_output.weight": "Q5_1",
    }  # fmt: skip
    file = small_gguf(types=types)
    tensors = stored(acquire(f"gguf:{file.path}"))
    values = file.values
    assert len(tensors) == len(values)
    same = {
        "model.embed_tokens.weight": "token_embd.weight",
        "model.norm.weight": "output_norm.weight",
        "model.layers.0.self_attn.v_proj.weight": "blk.0.attn_v.weight",
        "model.layers.1.self_attn.o_proj.weight": "blk.1.attn_output.weight",
        "model.layers.1.mlp.gate_proj.weight": "blk.1.ffn_gate.weight",
        "model.layers.1.mlp.up_proj.weight": "blk.1.ffn_up.weight",
        "model.layers.0.mlp.down_proj.weight": "blk.0.ffn_down.weight",
        "model.layers.0.input_layernorm.weight": "blk.0.attn_norm.weight",
        "model.layers.1.post_attention_layernorm.weight": "blk.1.ffn_norm.weight",
    }
    for name, source in same.items():
        assert tensors[name].dtype == np.float32
        assert np.array_equal(tensors[name], values[source]), name


def test_query_and_key_rows_are_put_back(small_gguf: Make) -> None:
    file = small_gguf(types={"blk.0.attn_q.weight": "Q4_1"})
    tensors = stored(acquire(f"gguf:{file.path}"))
    for layer in range(2):
        for part, heads in (("q", 4), ("k", 2)):
            ours = tensors[f"model.layers.{layer}.self_attn.{part}_proj.weight"]
            theirs = file.values[f"blk.{layer}.attn_{part}.weight"]
            assert np.array_equal(interleaved(ours, heads), theirs)
            assert not np.array_equal(ours, theirs)


def test_the_row_order_is_a_permutation_within_heads() -> None:
    order = source_rows(3, 8)
    assert sorted(order) == list(range(24))
    assert order[:8].tolist() == [0, 2, 4, 6, 1, 3, 5, 7]
    assert (order // 8).tolist() == [0] * 8 + [1] * 8 + [2] * 8


def test_the_configuration_names_everything(small_gguf: Make) -> None:
    file = small_gguf()
    snapshot = acquire(f"gguf:{file.path}")
    config = strict_json.load_object(snapshot.root / "config.json")
    assert config == {
        "architectures": ["LlamaForCausalLM"], "model_type": "llama", "vocab_size": 262,
        "hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 2,
        "num_attention_heads": 4, "num_key_value_heads": 2, "max_position_embeddings": 128,
        "rms_norm_eps": float(np.float32(1e-5)), "rope_theta": 50000.0, "head_dim": 16,
        "hidden_act": "silu", "attention_bias": False, "mlp_bias": False,
        "tie_word_embeddings": True, "dtype": "float32", "bos_token_id": 1, "eos_token_id": 2,
        "pad_token_id": 2,
    }  # fmt: skip
    generation = strict_json.load_object(snapshot.root / "generation_config.json")
    assert generation == {"bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 2}


def test_a_stored_head_unties(small_gguf: Make) -> None:
    file = small_gguf(untied=True)
    snapshot = acquire(f"gguf:{file.path}")
    config = strict_json.load_object(snapshot.root / "config.json")
    assert config["tie_word_embeddings"] is False
    head = stored(snapshot)["lm_head.weight"]
    assert np.array_equal(head, file.values["output.weight"])


def test_provenance_tells_of_grid_transforms_and_origins(small_gguf: Make) -> None:
    file = small_gguf(types={"blk.0.attn_q.weight": "Q4_1"})
    provenance = acquire(f"gguf:{file.path}").provenance
    assert "Q4_1" in provenance["weights_on_quantized_grid"]
    rows = {row["name"]: row for row in provenance["tensors"]}
    assert rows["model.layers.0.self_attn.q_proj.weight"]["transforms"] == [
        ["unpermute_rows", {"heads": 4, "from": "interleaved"}],
        ["dequantize", {"from": "Q4_1", "to": "F32"}],
    ]
    assert rows["model.norm.weight"]["transforms"] == []
    assert provenance["gguf"]["fields"]["llama.block_count"] == {"kind": "u32", "value": 2}
    assert provenance["documents"]["config.json"]["keys"]["head_dim"]
    assert [m["name"] for m in provenance["materials"]] == [b"small.gguf"]


def test_float_weights_lie_on_no_grid(small_gguf: Make) -> None:
    assert acquire(f"gguf:{small_gguf().path}").provenance["weights_on_quantized_grid"] == ""


def test_another_folder_or_a_second_run_gives_the_same_snapshot(
    small_gguf: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = small_gguf()
    first = acquire(f"gguf:{file.path}")
    assert acquire(f"gguf:{file.path}").snapshot_id == first.snapshot_id
    monkeypatch.setenv("TRLM_HOME", str(tmp_path / "other-home"))
    (tmp_path / "moved").mkdir()
    moved = file.path.rename(tmp_path / "moved" / file.path.name)
    assert acquire(str(moved)).snapshot_id == first.snapshot_id


def test_another_architecture_is_refused_by_name(small_gguf: Make) -> None:
    file = small_gguf(architecture="falcon")
    with pytest.raises(errors.GgufArchitectureError, match="'falcon'"):
        acquire(f"gguf:{file.path}")


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"extra": {"llama.expert_count": 8}}, "llama.expert_count"),
        ({"extra": {"llama.rope.scaling.type": "yarn"}}, "'yarn'"),
        ({"extra": {"llama.rope.dimension_count": 8, "llama.attention.key_length": 16}}, "8 of 16"),
        ({"extra": {"llama.vocab_size": 7}}, "token_embd.weight"),
        ({"extra": {"strange.key": 1}}, "no known namespace"),
        ({"drop": {"llama.block_count"}}, "missing"),
        ({"drop": {"llama.attention.layer_norm_rms_epsilon"}}, "missing"),
        ({"extra": {"tokenizer.ggml.prefix": 1}}, "not known here"),
    ],
)
def test_a_key_that_is_unknown_missing_or_contradicts_is_refused(
    small_gguf: Make, changes: dict[str, Any], words: str
) -> None:
    file = small_gguf(**changes)
    with pytest.raises(errors.GgufFieldError, match=words):
        acquire(f"gguf:{file.path}")


def test_a_check_says_what_a_conversion_would(small_gguf: Make, tmp_path: Path) -> None:
    assert check_gguf(small_gguf().path) == []
    for changes, code in (
        ({"architecture": "falcon"}, "GGUF_ARCHITECTURE"),
        ({"pre": "brand-new"}, "GGUF_PRE_TOKENIZER"),
        ({"drop": {"blk.1.ffn_up.weight"}}, "GGUF_TENSOR"),
    ):
        file = small_gguf("other.gguf", **changes)
        assert [f["code"] for f in check_gguf(file.path)] == [code]
    assert [f["code"] for f in check_gguf(tmp_path / "none.gguf")] == ["GGUF"]


def test_a_missing_tensor_is_refused(small_gguf: Make) -> None:
    file = small_gguf(drop={"blk.1.ffn_up.weight"})
    with pytest.raises(errors.GgufTensorError, match="19 tensors"):
        acquire(f"gguf:{file.path}")


def test_a_tensor_of_no_llama_is_refused(small_gguf: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    file = small_gguf(architecture="llama")
    raw = file.path.read_bytes().replace(b"blk.1.ffn_up.weight", b"blk.7.ffn_up.weight")
    file.path.write_bytes(raw)
    with pytest.raises(errors.GgufTensorError, match=r"blk\.7\.ffn_up"):
        acquire(f"gguf:{file.path}")


def test_heads_that_do_not_divide_are_refused(small_gguf: Make) -> None:
    file = small_gguf(kv_heads=2)
    raw = bytearray(file.path.read_bytes())
    place = raw.index(b"llama.attention.head_count_kv") + len(b"llama.attention.head_count_kv") + 4
    raw[place] = 5
    file.path.write_bytes(bytes(raw))
    with pytest.raises(errors.GgufFieldError, match="5 key/value heads do not divide 4"):
        acquire(f"gguf:{file.path}")


def test_a_weight_that_is_not_finite_is_refused(small_gguf: Make, own_home: Path) -> None:
    file = small_gguf()
    raw = bytearray(file.path.read_bytes())
    raw[-4:] = np.array([np.inf], "<f4").tobytes()
    file.path.write_bytes(bytes(raw))
    with pytest.raises(errors.NonFiniteError, match="7f800000"):
        acquire(f"gguf:{file.path}")
    left = [p.name for p in (own_home / "snapshots").iterdir() if not p.name.startswith(".lock")]
    assert left == []


def test_the_package_that_dequantizes_may_be_missing(
    small_gguf: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = small_gguf()
    monkeypatch.setitem(__import__("sys").modules, "gguf", None)
    with pytest.raises(errors.MissingPackageError, match="gguf"):
        acquire(f"gguf:{file.path}")
