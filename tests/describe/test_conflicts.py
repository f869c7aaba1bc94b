"""The conflict detector over generated trees: the shapes of real reports, and their opposites."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save_file

from tests.describe.conftest import tokenizer_json
from trlm_lab.base import canon
from trlm_lab.describe import ConflictReceipt, detect_conflicts
from trlm_lab.errors import JsonDuplicateKeyError, JsonError

Tree = Callable[..., Path]
TWO = [{"name": "default", "template": "a"}, {"name": "tool_use", "template": "b"}]
SWAPPED = {"3": {"content": "<|turn|>"}, "4": {"content": "<|stop|>"}}


def judged(root: Path) -> ConflictReceipt:
    return detect_conflicts(root)


STOPS: dict[str, tuple[dict[str, Any], str]] = {
    "config and tokenizer name different stops": (
        {"config": {"eos_token_id": 4}}, "EOS_CONFLICT"
    ),
    "a scalar beside a list": (
        {"generation": {"eos_token_id": [3, 4]}, "tokenizer_config": {"eos_token": "<|turn|>"}},
        "EOS_CONFLICT",
    ),
    "the list is right and the scalar is one of it": (
        {"generation": {"eos_token_id": [3, 4]}}, "EOS_CONFLICT"
    ),
    "the stop is an ordinary word": ({"config": {"eos_token_id": 1}}, "EOS_CONFLICT"),
    "the stop is no token": ({"tokenizer_config": {"eos_token": "</s>"}}, "EOS_CONFLICT"),
    "the stop is a Boolean": ({"config": {"eos_token_id": True}}, "EOS_CONFLICT"),
    "no stop anywhere": (
        {"config": {"eos_token_id": None}, "tokenizer_config": {"eos_token": None}},
        "EOS_MISSING",
    ),
    "a stop beyond the vocabulary": (
        {"config": {"eos_token_id": 9}, "tokenizer_config": {"eos_token": None}}, "EOS_RANGE"
    ),
    "two starts": ({"generation": {"bos_token_id": 4}}, "BOS_CONFLICT"),
    "two fillers": (
        {"config": {"pad_token_id": 3}, "tokenizer_config": {"pad_token": "<|turn|>"}},
        "PAD_CONFLICT",
    ),
    "two unknowns": ({"tokenizer_config": {"unk_token": "<|turn|>"}}, "UNK_CONFLICT"),
    "swapped added tokens": (
        {"tokenizer_config": {"added_tokens_decoder": SWAPPED}}, "ADDED_TOKEN_ID"
    ),
    "two templates": ({"tokenizer_config": {"chat_template": TWO}}, "TEMPLATE_AMBIGUOUS"),
    "no architecture": ({"config": {"architectures": []}}, "ARCHITECTURE_MISSING"),
    "no family": ({"config": {"model_type": None}}, "ARCHITECTURE_MISSING"),
    "another architecture": (
        {"config": {"architectures": ["MistralForCausalLM"]}}, "ARCHITECTURE_CONFLICT"
    ),
    "two architectures": (
        {"config": {"architectures": ["LlamaForCausalLM", "X"]}}, "ARCHITECTURE_CONFLICT"
    ),
    "a vocabulary too small for its tokenizer": (
        {"config": {"vocab_size": 4}}, "VOCAB_CONFLICT"
    ),
    "no vocabulary size": ({"config": {"vocab_size": None}}, "VOCAB_CONFLICT"),
    "a tokenizer without vocabulary": (
        {"tokenizer": {"model": {"type": "BPE", "merges": []}, "added_tokens": []}},
        "TOKENIZER_INCOMPLETE",
    ),
    "a BPE without merges": (
        {"tokenizer": {"model": {"type": "BPE", "vocab": {"<|start|>": 2, "<|stop|>": 3}}}},
        "TOKENIZER_INCOMPLETE",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", STOPS)
def test_a_conflict_stops_with_its_code(tree: Tree, name: str) -> None:
    documents, code = STOPS[name]
    receipt = judged(tree(**documents))
    assert (receipt.verdict, receipt.code) == ("stop", code)


SOUND: dict[str, dict[str, Any]] = {
    "all agree": {"generation": {"bos_token_id": 2, "eos_token_id": 3}},
    "no tokenizer files": {"bare": True},
    "a start that the tokenizer leaves open": {"tokenizer_config": {"bos_token": None}},
    "a filler that only the tokenizer names": {"tokenizer_config": {"pad_token": "<|stop|>"}},
    "a token given as an object": {"tokenizer_config": {"eos_token": {"content": "<|stop|>"}}},
    "equal lists and one of their members": {
        "config": {"eos_token_id": [3, 4]}, "generation": {"eos_token_id": [4, 3]},
    },
    "one named template": {"tokenizer_config": {"chat_template": TWO[:1]}},
    "a padded vocabulary": {"config": {"vocab_size": 64}},
    "a family without a table row": {
        "config": {"model_type": "new", "architectures": ["NewForCausalLM"]}
    },
}  # fmt: skip


@pytest.mark.parametrize("name", SOUND)
def test_what_agrees_is_accepted(tree: Tree, name: str) -> None:
    receipt = judged(tree(**SOUND[name]))
    assert (receipt.verdict, receipt.code, receipt.stops) == ("accept", "OK", ())


def test_the_stop_set_is_the_whole_list(tree: Tree) -> None:
    lists = {"config": {"eos_token_id": [4, 3]}, "generation": {"eos_token_id": [3, 4]}}
    assert judged(tree(**lists)).chosen_ids["eos"] == (3, 4)


def test_a_stop_that_is_an_ordinary_word_everywhere_is_made_special_by_the_loader(
    tree: Tree,
) -> None:
    receipt = judged(tree(config={"eos_token_id": 1}, tokenizer_config={"eos_token": "word"}))
    assert [f.code for f in receipt.stops] == ["SPECIAL_TOKEN_ADDED"]
    assert "the source's loader cuts every text at it" in receipt.stops[0].detail


def test_a_stop_that_is_no_control_token_is_noted(tree: Tree) -> None:
    changed = tokenizer_json()
    changed["added_tokens"][1]["special"] = False
    receipt = judged(tree(tokenizer=changed))
    assert receipt.verdict == "accept"
    assert "EOS_ORDINARY" in [f.code for f in receipt.findings]


def test_a_limit_on_the_length_of_texts_is_noted(tree: Tree) -> None:
    receipt = judged(tree(tokenizer=tokenizer_json(truncation={"max_length": 3})))
    (note,) = [f for f in receipt.findings if f.field == "tokenizer"]
    assert (note.code, note.where) == ("TRUNCATION_DECLARED", "tokenizer.json#/truncation")
    assert (receipt.verdict, "3 tokens" in note.detail) == ("accept", True)


def test_two_template_files_that_differ_are_ambiguous(tree: Tree) -> None:
    root = tree(tokenizer_config={"chat_template": "a"})
    (root / "chat_template.jinja").write_text("a")
    assert judged(root).code == "OK"
    (root / "chat_template.jinja").write_text("b")
    assert judged(root).code == "TEMPLATE_AMBIGUOUS"


@pytest.mark.parametrize("name", ["model.embed_tokens.weight", "lm_head.weight"])
def test_the_embedding_must_have_the_vocabulary(tree: Tree, name: str) -> None:
    root = tree()
    save_file({name: np.zeros((8, 8), np.float32)}, root / "model.safetensors")
    assert judged(root).code == "OK"
    save_file({name: np.zeros((7, 8), np.float32)}, root / "model.safetensors")
    assert judged(root).code == "VOCAB_CONFLICT"


def test_every_conflict_is_reported_not_only_the_first(tree: Tree) -> None:
    receipt = judged(tree(config={"eos_token_id": 4, "bos_token_id": 3, "architectures": []}))
    codes = {f.code for f in receipt.stops}
    assert codes == {"ARCHITECTURE_MISSING", "BOS_CONFLICT", "EOS_CONFLICT"}


def test_the_receipt_is_machine_readable_and_deterministic(tree: Tree) -> None:
    root = tree(config={"eos_token_id": 4})
    receipt = judged(root)
    assert receipt.receipt_id == judged(root).receipt_id
    row = canon.decode(canon.encode(receipt.to_map()))
    assert row["schema"] == "trlm.conflict.v3"
    eos = next(e for e in row["evidence"] if e["field"] == "eos_token_id")
    assert eos["publisher"] == [
        {"file": "config.json", "pointer": "/eos_token_id", "value": 4},
        {"file": "tokenizer_config.json", "pointer": "/eos_token", "value": "<|stop|>"},
    ]
    assert eos["chosen"] is None
    assert row["findings"][0]["detail"].startswith("config.json#/eos_token_id says 4 = [4]")


def test_the_source_fills_its_own_column(tree: Tree, defaults: Any) -> None:
    receipt = detect_conflicts(tree(), defaults())
    columns = {e.field: e.source for e in receipt.evidence}
    assert columns["eos_token_id"] == [3]
    assert columns["vocab_size"] == 8


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (b"not json", JsonError),
        (b"[]", JsonError),
        (b'{"vocab_size":8,"vocab_size":9}', JsonDuplicateKeyError),
    ],
)
def test_a_document_must_be_strict_json(tree: Tree, data: bytes, kind: type[Exception]) -> None:
    root = tree()
    (root / "config.json").write_bytes(data)
    with pytest.raises(kind, match=r"config\.json"):
        judged(root)


@pytest.mark.parametrize("name", ["config.json", "generation_config.json", "added_tokens.json"])
def test_a_document_beyond_any_in_use_is_not_parsed(tree: Tree, name: str) -> None:
    root = tree()
    (root / name).write_bytes(b'{"a":"' + b"x" * (4 << 20) + b'"}')
    with pytest.raises(JsonError, match=f"{name}.*the limit is 4194304"):
        judged(root)


def test_odd_documents_never_raise_anything_else(tree: Tree) -> None:
    odd: list[Any] = [None, True, -1, 2.5, "x", [], {}, [[]], [None], {"content": 3}, 2**70]
    for value in odd:
        for key in ("eos_token_id", "vocab_size", "model_type", "architectures"):
            assert canon.encode(judged(tree(config={key: value})).to_map())
        for key in ("rope_theta", "rope_parameters", "tie_word_embeddings", "pad_token_id"):
            assert canon.encode(judged(tree(config={key: value})).to_map())
        for key in ("eos_token", "chat_template", "added_tokens_decoder", "tokenizer_class"):
            assert canon.encode(judged(tree(tokenizer_config={key: value})).to_map())
        for key in ("model", "added_tokens"):
            assert judged(tree(tokenizer={key: value, "version": "1.0"})).findings is not None
