"""A Gemma 3 file: what its architecture implies is written out, and its pieces become merges."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file
from tokenizers import Tokenizer

from tests.acquire.gemma_gguf import PIECES, SPACE, SmallGemma
from trlm_lab import errors
from trlm_lab.acquire import acquire
from trlm_lab.base import canon, strict_json

Make = Callable[..., SmallGemma]


@pytest.fixture
def gemma(tmp_path: Path) -> Make:
    """Makes and writes a small file; keywords are the fields of `SmallGemma`."""

    def make(**changes: Any) -> SmallGemma:
        file = SmallGemma(tmp_path / "gemma.gguf", **changes)
        file.write()
        return file

    return make


def root_of(file: SmallGemma) -> Path:
    return acquire(f"gguf:{file.path}").root


def test_what_the_architecture_implies_stands_in_the_configuration(gemma: Make) -> None:
    row = strict_json.load_object(root_of(gemma()) / "config.json")
    assert row["architectures"] == ["Gemma3ForCausalLM"]
    assert row["model_type"] == "gemma3_text"
    assert (row["head_dim"], row["query_pre_attn_scalar"], row["sliding_window"]) == (24, 24, 16)
    assert row["layer_types"] == ["sliding_attention"] * 5 + [
        "full_attention",
        "sliding_attention",
    ]
    assert (row["rope_theta"], row["rope_local_base_freq"]) == (1e6, 1e4)
    assert row["hidden_activation"] == "gelu_pytorch_tanh"


@pytest.mark.slow
def test_the_source_framework_takes_the_configuration(gemma: Make) -> None:
    from transformers import AutoConfig

    config = AutoConfig.from_pretrained(root_of(gemma()))
    assert config.sliding_window == 16
    bases = {kind: row["rope_theta"] for kind, row in config.rope_parameters.items()}
    assert bases == {"full_attention": 1e6, "sliding_attention": 1e4}


def test_one_is_taken_off_the_norms_alone_and_no_row_moves(gemma: Make) -> None:
    file = gemma()
    root = root_of(file)
    found = load_file(root / "model.safetensors")
    stored = file.values
    names = {
        "output_norm": "model.norm",
        "blk.3.attn_q_norm": "model.layers.3.self_attn.q_norm",
        "blk.3.post_attention_norm": "model.layers.3.post_attention_layernorm",
        "blk.3.ffn_norm": "model.layers.3.pre_feedforward_layernorm",
        "blk.3.post_ffw_norm": "model.layers.3.post_feedforward_layernorm",
    }
    for name, target in names.items():
        factor = np.float32(1) + found[f"{target}.weight"]
        np.testing.assert_array_equal(factor, stored[f"{name}.weight"])
    for name in ("q", "k"):
        np.testing.assert_array_equal(
            found[f"model.layers.3.self_attn.{name}_proj.weight"],
            stored[f"blk.3.attn_{name}.weight"],
        )
    record = canon.decode((root / "provenance.cbor").read_bytes())
    steps = {row["name"]: [kind for kind, _ in row["transforms"]] for row in record["tensors"]}
    assert steps["model.norm.weight"] == ["subtract_one"]
    assert steps["model.layers.3.self_attn.q_proj.weight"] == []


def test_a_factor_that_is_no_one_and_a_weight_is_refused(gemma: Make) -> None:
    file = gemma(norm_factor=1e-3)
    with pytest.raises(errors.GgufTensorError, match=r"is no 1 \+ w in float32"):
        root_of(file)


def test_pieces_become_merges_by_score_and_spaces_come_first(gemma: Make) -> None:
    row = strict_json.load_object(root_of(gemma()) / "tokenizer.json")
    assert [tuple(merge) for merge in row["model"]["merges"]] == [
        (SPACE * 2, SPACE),
        (SPACE, SPACE * 2),
        (SPACE, SPACE),
        ("a", "b"),
        (SPACE, "a"),
        ("ab", "c"),
        ("a", "bc"),
        ("b", "c"),
    ]


def test_the_tokenizer_reads_texts_as_the_file_says(gemma: Make) -> None:
    tokenizer = Tokenizer.from_file(str(root_of(gemma()) / "tokenizer.json"))
    assert tokenizer.encode("abc a   é").tokens == [
        "<bos>", "abc", f"{SPACE}a", SPACE * 3, "<0xC3>", "<0xA9>",
    ]  # fmt: skip
    assert tokenizer.encode("<eos>").tokens == ["<bos>", "<eos>"]
    assert tokenizer.decode([6 + 0xC3, 6 + 0xA9]) == "é"


K = "tokenizer.ggml."
BOUNDARY: list[tuple[dict[str, Any], str]] = [
    ({"drop": {f"{K}scores"}}, "scores does not give one float to each of"),
    ({"drop": {f"{K}add_space_prefix"}}, "add_space_prefix is not false"),
    ({"extra": {f"{K}add_eos_token": True}}, "add_eos_token is true"),
    ({"drop": {f"{K}bos_token_id"}}, "add_bos_token is true and bos_token_id is missing"),
    ({"drop": {f"{K}unknown_token_id"}}, "unknown_token_id None is no id"),
    ({"pieces": tuple(p for p in PIECES if p[0] != "<0x41>")}, "the byte piece <0x41> is missing"),
    ({"pieces": (*PIECES, ("a", 1, -9.0))}, "'a' occurs twice"),
    ({"pieces": (*PIECES, ("z", 5, -9.0))}, r"token types \[5\] have no place"),
    ({"pieces": (*PIECES, ("z", 6, -9.0))}, "257 byte pieces"),
]


@pytest.mark.parametrize(("changes", "words"), BOUNDARY, ids=range(len(BOUNDARY)))
def test_pieces_that_need_guessing_are_refused(
    gemma: Make, changes: dict[str, Any], words: str
) -> None:
    with pytest.raises(errors.GgufTokenizerError, match=words):
        root_of(gemma(**changes))


def test_a_base_that_the_file_leaves_out_is_not_guessed(gemma: Make) -> None:
    with pytest.raises(errors.GgufFieldError, match=r"rope\.freq_base"):
        root_of(gemma(drop={"gemma3.rope.freq_base"}))


def test_a_norm_that_denies_the_width_of_a_head_is_named(gemma: Make) -> None:
    key = "gemma3.attention.value_length"
    with pytest.raises(errors.GgufFieldError, match=r"value_length.*20 beside 24"):
        root_of(gemma(drop={key}, extra={key: 20}))
