"""The byte-level BPE of a GGUF file as tokenizer.json."""

from collections.abc import Callable
from typing import Any

import pytest
from tokenizers import Tokenizer

from trlm_lab import errors
from trlm_lab.acquire import acquire
from trlm_lab.base import strict_json

Make = Callable[..., Any]


def tokenizer_of(make: Make, **changes: Any) -> Tokenizer:
    snapshot = acquire(f"gguf:{make(**changes).path}")
    return Tokenizer.from_file(str(snapshot.root / "tokenizer.json"))


def test_digits_stand_apart_and_merges_apply(small_gguf: Make) -> None:
    # There is a merge of "1" and "2": only the digit split keeps them apart.
    tokenizer = tokenizer_of(small_gguf)
    assert tokenizer.encode("ab a").tokens == ["ab", "Ġa"]
    assert tokenizer.encode("x 12").tokens == ["x", "Ġ", "1", "2"]


def test_control_tokens_are_special_and_nothing_is_added(small_gguf: Make) -> None:
    tokenizer = tokenizer_of(small_gguf)
    encoded = tokenizer.encode("<|im_start|>ab<|im_end|>")
    assert encoded.ids == [1, tokenizer.token_to_id("ab"), 2]
    assert tokenizer.decode(encoded.ids) == "ab"
    assert tokenizer.encode("").ids == []


def test_the_companion_files_name_the_special_tokens(small_gguf: Make) -> None:
    root = acquire(f"gguf:{small_gguf().path}").root
    config = strict_json.load_object(root / "tokenizer_config.json")
    names = {role: config[f"{role}_token"] for role in ("bos", "eos", "pad", "unk")}
    assert names == {
        "bos": "<|im_start|>", "eos": "<|im_end|>", "pad": "<|im_end|>", "unk": "<|endoftext|>"
    }  # fmt: skip
    assert config["tokenizer_class"] == "PreTrainedTokenizerFast"
    assert "{% for m in messages %}" in (root / "chat_template.jinja").read_text()


@pytest.mark.parametrize(("role", "key"), [("eos", "eos"), ("pad", "padding")])
def test_an_ordinary_word_is_not_named_as_a_special_token(
    small_gguf: Make, role: str, key: str
) -> None:
    key = f"tokenizer.ggml.{key}_token_id"
    root = acquire(f"gguf:{small_gguf(drop={key}, extra={key: 50}).path}").root
    assert f"{role}_token" not in strict_json.load_object(root / "tokenizer_config.json")
    generation = strict_json.load_object(root / "generation_config.json")
    assert generation[f"{role}_token_id"] == 50


@pytest.mark.slow
def test_the_source_framework_loads_it_unchanged(small_gguf: Make) -> None:
    from transformers import AutoTokenizer

    root = acquire(f"gguf:{small_gguf().path}").root
    loaded = AutoTokenizer.from_pretrained(root)
    assert (
        loaded("x 12").input_ids
        == Tokenizer.from_file(str(root / "tokenizer.json")).encode("x 12").ids
    )


def test_an_unknown_pre_tokenizer_is_refused_by_name(small_gguf: Make) -> None:
    file = small_gguf(pre="brand-new")
    with pytest.raises(errors.GgufPreTokenizerError, match="'brand-new' is not known; known: smol"):
        acquire(f"gguf:{file.path}")


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"model": "bert"}, "'bert'"),
        ({"extra": {"tokenizer.ggml.add_bos_token": True}}, "add_bos_token is true"),
        ({"merges": ["a b", "a b"]}, "occurs twice"),
        ({"merges": ["ab"]}, "no pair"),
        ({"merges": ["b a"]}, "'ba' is no token"),
        ({"drop": {"tokenizer.ggml.merges"}}, "no list of texts"),
        ({"drop": {"tokenizer.ggml.token_type"}}, "token_type"),
    ],
)
def test_a_vocabulary_that_needs_guessing_is_refused(
    small_gguf: Make, changes: dict[str, Any], words: str
) -> None:
    file = small_gguf(**changes)
    with pytest.raises(errors.GgufTokenizerError, match=words):
        acquire(f"gguf:{file.path}")


def test_a_special_id_outside_the_vocabulary_is_refused(small_gguf: Make) -> None:
    key = "tokenizer.ggml.eos_token_id"
    file = small_gguf(drop={key}, extra={key: 999})
    with pytest.raises(errors.GgufFieldError, match="999 is no id below 262"):
        acquire(f"gguf:{file.path}")


def test_a_file_without_tokenizer_gives_a_snapshot_without_one(small_gguf: Make) -> None:
    drop = {f"tokenizer.ggml.{key}" for key in (
        "model", "pre", "tokens", "token_type", "merges", "bos_token_id", "eos_token_id",
        "padding_token_id", "unknown_token_id")} | {"tokenizer.chat_template"}  # fmt: skip
    file = small_gguf(drop=drop, extra={"llama.vocab_size": 262})
    names = {f.display for f in acquire(f"gguf:{file.path}").files}
    assert names == {
        "config.json",
        "generation_config.json",
        "model.safetensors",
        "provenance.cbor",
    }
