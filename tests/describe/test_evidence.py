"""Evidence in four columns from every place that declares a field, and each rule over them."""

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save_file

from tests.describe.conftest import post, tokenizer_json
from trlm_lab.base import canon
from trlm_lab.describe import ConflictReceipt, Evidence, detect_conflicts, evidence_table
from trlm_lab.errors import NotPlainFileError

Tree = Callable[..., Path]

TURNS = (
    "{% for m in messages %}{{ '<|start|>' + m['role'] + '\n' + m['content'] + END + '\n' }}"
    "{% endfor %}{% if add_generation_prompt %}{{ '<|start|>assistant\n' }}{% endif %}"
)


def template(end: str) -> str:
    return TURNS.replace("END", end)


def column(receipt: ConflictReceipt, field: str) -> Evidence:
    return next(e for e in receipt.evidence if e.field == field)


def places(receipt: ConflictReceipt, field: str) -> dict[str, Any]:
    return {d.place: d.value for d in column(receipt, field).publisher}


def extra(root: Path, name: str, row: Any) -> None:
    text = row if isinstance(row, str | bytes) else json.dumps(row)
    (root / name).write_bytes(text.encode() if isinstance(text, str) else text)


def extras(root: Path, rows: dict[str, Any]) -> None:
    for name, row in rows.items():
        extra(root, name, row)


def provenance(root: Path, **fields: Any) -> None:
    keys = {key.replace("__", "."): {"kind": "x", "value": value} for key, value in fields.items()}
    (root / "provenance.cbor").write_bytes(canon.encode({"gguf": {"fields": keys}}))


def test_the_stop_token_is_read_in_all_its_places(tree: Tree, defaults: Any) -> None:
    root = tree(
        generation={"eos_token_id": [3]},
        tokenizer_config={"chat_template": template("'<|stop|>'")},
    )
    extra(root, "special_tokens_map.json", {"eos_token": {"content": "<|stop|>"}})
    extra(root, "processor_config.json", {"eos_token": "<|stop|>"})
    extra(root, "README.md", "```python\nmodel.generate(eos_token_id=3)\n```\n")
    provenance(root, tokenizer__ggml__eos_token_id=3)
    receipt = detect_conflicts(root, defaults())
    assert (receipt.code, receipt.chosen_ids["eos"]) == ("OK", (3,))
    assert places(receipt, "eos_token_id") == {
        "config.json#/eos_token_id": 3,
        "generation_config.json#/eos_token_id": [3],
        "tokenizer_config.json#/eos_token": "<|stop|>",
        "special_tokens_map.json#/eos_token": "<|stop|>",
        "processor_config.json#/eos_token": "<|stop|>",
        "provenance.cbor#/gguf/fields/tokenizer.ggml.eos_token_id": 3,
        "tokenizer_config.json#/chat_template": ["<|stop|>"],
        "README.md#line 2": "eos_token_id=3",
    }
    assert column(receipt, "eos_token_id").source == [3]
    assert column(receipt, "eos_token_id").chosen == [3]


Plant = Callable[[Path], None]
ONE_PLACE: dict[str, tuple[dict[str, Any], Plant | None, str]] = {
    "generation": ({"generation": {"eos_token_id": 4}}, None, "EOS_CONFLICT"),
    "special map": ({}, lambda r: extra(r, "special_tokens_map.json", {"eos_token": "<|turn|>"}),
                    "EOS_CONFLICT"),
    "processor": ({}, lambda r: extra(r, "preprocessor_config.json", {"eos_token": "<|turn|>"}),
                  "EOS_CONFLICT"),
    "a GGUF key": ({}, lambda r: provenance(r, tokenizer__ggml__eos_token_id=4), "EOS_CONFLICT"),
    "a GGUF bos": ({}, lambda r: provenance(r, tokenizer__ggml__bos_token_id=4), "BOS_CONFLICT"),
    "a GGUF architecture": ({}, lambda r: provenance(r, general__architecture="qwen2"),
                            "ARCHITECTURE_CONFLICT"),
    "a GGUF vocabulary": ({}, lambda r: provenance(r, llama__vocab_size=9), "VOCAB_CONFLICT"),
    "a GGUF base": ({}, lambda r: provenance(r, llama__rope__freq_base=5.0), "ROPE_CONFLICT"),
    "a GGUF template": (
        {"tokenizer_config": {"chat_template": "a"}},
        lambda r: provenance(r, tokenizer__chat_template="b"), "TEMPLATE_AMBIGUOUS",
    ),
    "the template": (
        {"tokenizer_config": {"chat_template": template("'<|turn|>'")}}, None, "EOS_CONFLICT"
    ),
    "a processor's template": (
        {"tokenizer_config": {"chat_template": "a"}},
        lambda r: extra(r, "processor_config.json", {"chat_template": "b"}), "TEMPLATE_AMBIGUOUS",
    ),
    "a template's file": (
        {"tokenizer_config": {"chat_template": "a"}},
        lambda r: extra(r, "chat_template.json", {"chat_template": "b"}), "TEMPLATE_AMBIGUOUS",
    ),
    "a processor's other file": (
        {"tokenizer_config": {"chat_template": "a"}},
        lambda r: extra(r, "preprocessor_config.json", {"chat_template": "b"}),
        "TEMPLATE_AMBIGUOUS",
    ),
    "a processor's map of templates": (
        {"tokenizer_config": {"chat_template": "a"}},
        lambda r: extra(r, "processor_config.json", {"chat_template": {"x/y": "a", "tool": "b"}}),
        "TEMPLATE_AMBIGUOUS",
    ),
    "a processor's template that ends turns otherwise": (
        {}, lambda r: extra(r, "processor_config.json", {"chat_template": template("'<|turn|>'")}),
        "EOS_CONFLICT",
    ),
    "a map of templates with a number": (
        {}, lambda r: extra(r, "chat_template.json", {"chat_template": {"a": 1}}),
        "TEMPLATE_SYNTAX",
    ),
    "a GGUF template with a name": (
        {"tokenizer_config": {"chat_template": "a"}},
        lambda r: provenance(r, tokenizer__chat_template__tool="b"), "TEMPLATE_AMBIGUOUS",
    ),
    "a template that is a number": (
        {"tokenizer_config": {"chat_template": 5}}, None, "TEMPLATE_SYNTAX"
    ),
    "a template without its end": (
        {"tokenizer_config": {"chat_template": "{{ 'x"}}, None, "TEMPLATE_SYNTAX"
    ),
    "a template of other bytes": (
        {}, lambda r: extra(r, "chat_template.jinja", b"\xff"), "TEMPLATE_SYNTAX"
    ),
    "a template that closes nothing": (
        {"tokenizer_config": {"chat_template": "{% for m in messages %}{{ m }}"}}, None,
        "TEMPLATE_SYNTAX",
    ),
    "a template that begins with the stop": (
        {"tokenizer_config": {"chat_template": "<|stop|>" + template("'<|turn|>'")}}, None,
        "EOS_CONFLICT",
    ),
    "a stop that is a word": (
        {"config": {"eos_token_id": 1}, "tokenizer_config": {"eos_token": None}}, None,
        "EOS_CONFLICT",
    ),
    "a list with a word": (
        {"config": {"eos_token_id": [1, 3]}, "generation": {"eos_token_id": [1, 3]}}, None,
        "EOS_CONFLICT",
    ),
    "an id without a token": (
        {"config": {"eos_token_id": 7}, "tokenizer_config": {"eos_token": None}}, None,
        "EOS_CONFLICT",
    ),
    "a negative id": ({"config": {"pad_token_id": -1}}, None, "PAD_RANGE"),
    "an id of 70 bits": ({"config": {"eos_token_id": [3, 2**70]}}, None, "EOS_RANGE"),
    "an inner configuration": (
        {"config": {"text_config": {"eos_token_id": 4}}}, None, "EOS_CONFLICT"
    ),
    "a flag of an added token": (
        {"tokenizer_config": {"added_tokens_decoder": {
            "3": {"content": "<|stop|>", "special": False}}}}, None, "TOKENIZER_CONFLICT",
    ),
    "a table of added tokens that is a list": (
        {"tokenizer_config": {"added_tokens_decoder": []}}, None, "ADDED_TOKEN_ID"
    ),
    "the card's code": (
        {}, lambda r: extra(r, "README.md", "```\neos_token_id=4\n```"), "MODEL_CARD_CONFLICT"
    ),
    "the card's text": (
        {}, lambda r: extra(r, "README.md", "```\neos_token='</s>'\n```"), "MODEL_CARD_CONFLICT"
    ),
    "the card's turn": (
        {"tokenizer_config": {"chat_template": template("eos_token")}},
        lambda r: extra(r, "README.md", "```\n<|im_start|>user\nhi\n```"), "MODEL_CARD_CONFLICT",
    ),
    "the card's turn, without a template": (
        {}, lambda r: extra(r, "README.md", "```\n<|im_start|>user\nhi\n```"),
        "MODEL_CARD_CONFLICT",
    ),
    "another kind of rotation": (
        {"config": {"rope_scaling": {"type": "linear"}, "rope_parameters": {"rope_type": "yarn"}}},
        None, "ROPE_CONFLICT",
    ),
    "a GGUF's kind of rotation": (
        {"config": {"rope_scaling": {"type": "linear"}}},
        lambda r: provenance(r, llama__rope__scaling__type="none"), "ROPE_CONFLICT",
    ),
    "another factor of rotation": (
        {"config": {"rope_scaling": {"type": "linear", "factor": 2.0},
                    "rope_parameters": {"rope_type": "linear", "factor": 4.0}}},
        None, "ROPE_CONFLICT",
    ),
    "a class of another model": (
        {"tokenizer_config": {"tokenizer_class": "GPT2TokenizerFast"}}, None, "TOKENIZER_CONFLICT"
    ),
    "a GGUF word of another model": (
        {}, lambda r: provenance(r, tokenizer__ggml__model="bert"), "TOKENIZER_CONFLICT"
    ),
    "another vocab.json": (
        {}, lambda r: extra(r, "vocab.json", {"word": 2}), "TOKENIZER_CONFLICT"
    ),
    "other merges": ({"tokenizer": {
        **tokenizer_json(), "model": {
            "type": "BPE", "vocab": {"<|start|>": 2, "<|stop|>": 3, "<|turn|>": 4, "a": 0, "aa": 1,
                                     "b": 5},
            "merges": [["a", "a"]]}}},
        lambda r: extra(r, "merges.txt", "#version: 0.2\na b\n"), "TOKENIZER_CONFLICT"),
    "merges beyond the limit": (
        {}, lambda r: extra(r, "merges.txt", "a b\n" * (1 + (16 << 20) // 4)), "TOKENIZER_CONFLICT"
    ),
    "a tokenizer's number": ({"tokenizer_config": {"eos_token_id": 4}}, None, "EOS_CONFLICT"),
    "a processor's number": (
        {}, lambda r: extra(r, "processor_config.json", {"eos_token_id": 4}), "EOS_CONFLICT"
    ),
    "two starts at once": (
        {"config": {"bos_token_id": [2, 4]}, "generation": {"bos_token_id": [2, 4]}}, None,
        "BOS_CONFLICT",
    ),
    "two separators": ({"tokenizer_config": {"sep_token": "<|turn|>"}},
                       lambda r: extra(r, "special_tokens_map.json", {"sep_token": "<|stop|>"}),
                       "SEP_CONFLICT"),
    "a mask that is no token": (
        {"tokenizer_config": {"mask_token": 4}}, None, "MASK_CONFLICT"
    ),
    "another start in the post-processor": (
        {"tokenizer": post("<|turn|>", "$")}, None, "BOS_CONFLICT"
    ),
    "another stop in the post-processor": (
        {"tokenizer": post("$", "<|turn|>")}, None, "EOS_CONFLICT"
    ),
    "an id of the post-processor": (
        {"tokenizer": tokenizer_json(post_processor={
            "type": "BertProcessing", "cls": ["<|turn|>", 2], "sep": ["<|stop|>", 3]})}, None,
        "ADDED_TOKEN_ID",
    ),
    "the padding of the tokenizer": (
        {"tokenizer": tokenizer_json(padding={"pad_id": 4, "pad_token": "<|stop|>"})}, None,
        "PAD_CONFLICT",
    ),
    "a filler beside the padding of the tokenizer": (
        {"config": {"pad_token_id": 3},
         "tokenizer": tokenizer_json(padding={"pad_id": 4, "pad_token": "<|turn|>"})}, None,
        "PAD_CONFLICT",
    ),
    "a further token of a list": (
        {"tokenizer_config": {"additional_special_tokens": ["<|turn|>", "<|nope|>"]}}, None,
        "SPECIAL_TOKEN_ADDED",
    ),
    "a further token of a map": (
        {}, lambda r: extra(r, "special_tokens_map.json",
                            {"extra_special_tokens": {"image_token": {"content": "<|nope|>"}}}),
        "SPECIAL_TOKEN_ADDED",
    ),
    "a further token of its own name": (
        {"tokenizer_config": {"image_token": "word"}}, None, "SPECIAL_TOKEN_ADDED"
    ),
    "a further token that is a number": (
        {"tokenizer_config": {"extra_special_tokens": [4]}}, None, "SPECIAL_TOKEN_ADDED"
    ),
    "a mask that is an ordinary word": (
        {"tokenizer_config": {"mask_token": "word"}}, None, "SPECIAL_TOKEN_ADDED"
    ),
    "a flag that is left out": (
        {"tokenizer_config": {"added_tokens_decoder": {"3": {"content": "<|stop|>"}}}}, None,
        "TOKENIZER_CONFLICT",
    ),
    "a class in the configuration": (
        {"config": {"tokenizer_class": "GPT2TokenizerFast"}}, None, "TOKENIZER_CONFLICT"
    ),
    "a stop that opens the turns": (
        {"config": {"eos_token_id": 2}, "tokenizer_config": {
            "eos_token": "<|start|>", "chat_template": template("'<|stop|>'")}},
        None, "EOS_CONFLICT",
    ),
    "a stop that opens the turns of a template that is not rendered": (
        {"config": {"eos_token_id": 2}, "tokenizer_config": {
            "eos_token": "<|start|>",
            "chat_template": template("'<|stop|>'") + "{{ messages.__class__ }}"}},
        None, "EOS_CONFLICT",
    ),
    "a word that a converted file names by its number": (
        {"config": {"eos_token_id": 1}, "tokenizer_config": {"eos_token": None}},
        lambda r: provenance(r, tokenizer__ggml__eos_token_id=1), "EOS_CONFLICT",
    ),
    "other added tokens": (
        {}, lambda r: extra(r, "added_tokens.json", {"<|stop|>": 4}), "ADDED_TOKEN_ID"
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", ONE_PLACE)
def test_one_place_that_disagrees_stops(tree: Tree, name: str) -> None:
    documents, plant, code = ONE_PLACE[name]
    root = tree(**documents)
    if plant is not None:
        plant(root)
    receipt = detect_conflicts(root)
    assert [f.code for f in receipt.stops] == [code]
    assert all(f.where and f.field and f.fix for f in receipt.findings)
    canon.encode(receipt.to_map())


AGREEING: dict[str, tuple[dict[str, Any], Plant | None]] = {
    "a template that names the stop": (
        {"tokenizer_config": {"chat_template": template("eos_token")}}, None
    ),
    "a template that ends turns otherwise and texts with the stop": (
        {"tokenizer_config": {"chat_template": template("'<|turn|>'") + "<|stop|>"}}, None
    ),
    "a template without control tokens": (
        {"tokenizer_config": {"chat_template": "{{ messages[0].content }}[/INST]"}}, None
    ),
    "one text in three places": (
        {"tokenizer_config": {"chat_template": "a"}},
        lambda r: extras(r, {
            "chat_template.jinja": "a",
            "processor_config.json": {"chat_template": {"default": "a"}},
            "chat_template.json": {"chat_template": "a"},
        }),
    ),
    "a card that shows the template's turns": (
        {"tokenizer_config": {"chat_template": template("eos_token")}},
        lambda r: extra(r, "README.md", "```\n<|start|>user\nhi<|stop|>\n```"),
    ),
    "a card whose prose names other tokens": (
        {}, lambda r: extra(r, "README.md", "Others use `<|im_start|>user`, eos_token_id=7.")
    ),
    "a card that lists tokens": (
        {}, lambda r: extra(r, "README.md", "```\n<|fim_prefix|> <|fim_suffix|>\n```")
    ),
    "the same vocabulary twice": (
        {}, lambda r: extra(r, "vocab.json", {"[UNK]": 0, "word": 1, "<|start|>": 2,
                                              "<|stop|>": 3, "<|turn|>": 4})
    ),
    "the same added tokens": ({}, lambda r: extra(r, "added_tokens.json", {"<|stop|>": 3})),
    "a GGUF that agrees": ({}, lambda r: provenance(
        r, tokenizer__ggml__eos_token_id=3, llama__vocab_size=8, llama__rope__freq_base=1e4)),
    "a class that takes any model": (
        {"tokenizer_config": {"tokenizer_class": "PreTrainedTokenizerFast"}}, None
    ),
    "one kind of rotation, in two words": (
        {"config": {"rope_parameters": {"rope_type": "default"}}},
        lambda r: provenance(r, llama__rope__scaling__type="none"),
    ),
    "the start in the post-processor": (
        {"tokenizer": post("<|start|>", "$", "<|stop|>")}, None
    ),
    "a stop of several that a tokenizer numbers": (
        {"config": {"eos_token_id": [3, 4]}, "generation": {"eos_token_id": [3, 4]},
         "tokenizer_config": {"eos_token": None, "eos_token_id": 4}}, None,
    ),
    "a filler that the padding names too": (
        {"config": {"pad_token_id": 4},
         "tokenizer": tokenizer_json(padding={"pad_id": 4, "pad_token": "<|turn|>"})}, None,
    ),
    "further tokens of the tokenizer": (
        {"tokenizer_config": {"extra_special_tokens": {"image_token": "<|turn|>"},
                              "additional_special_tokens": ["<|turn|>"], "sep_token": "<|turn|>",
                              "cls_token": None, "add_bos_token": False}}, None,
    ),
    "a damaged provenance": ({}, lambda r: extra(r, "provenance.cbor", "no record")),
}  # fmt: skip


@pytest.mark.parametrize("name", AGREEING)
def test_what_agrees_goes_on(tree: Tree, name: str) -> None:
    documents, plant = AGREEING[name]
    root = tree(**documents)
    if plant is not None:
        plant(root)
    assert [f.code for f in detect_conflicts(root).stops] == []


EMBEDDING = np.arange(64, dtype=np.float32).reshape(8, 8)
HEADS: dict[str, tuple[dict[str, Any], Any, str, list[str]]] = {
    "absent": ({}, None, "absent", []),
    "identical": ({}, EMBEDDING.copy(), "identical copy", ["TIED_COPY"]),
    "different": ({}, EMBEDDING + 1, "different copy, from byte 2 on", ["TIED_CONFLICT"]),
    "of another type": (
        {}, EMBEDDING.astype(np.float16), "different copy, F16 [8, 8]", ["TIED_CONFLICT"]
    ),
    "untied and absent": ({"tie_word_embeddings": False}, None, "absent", ["TIED_CONFLICT"]),
    "untied and stored": (
        {"tie_word_embeddings": False}, EMBEDDING + 1, "different copy, from byte 2 on", []
    ),
    "left open": ({"tie_word_embeddings": None}, None, "absent", ["TIED_CONFLICT"]),
    "left open and stored": (
        {"tie_word_embeddings": None}, EMBEDDING + 1, "different copy, from byte 2 on", []
    ),
    "left open by a family that ties": (
        {"tie_word_embeddings": None, "model_type": "gemma2",
         "architectures": ["Gemma2ForCausalLM"]}, None, "absent", [],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", HEADS)
def test_the_tied_flag_against_the_stored_head(tree: Tree, name: str) -> None:
    config, head, state, codes = HEADS[name]
    root = tree(config=config)
    tensors = {"model.embed_tokens.weight": EMBEDDING}
    if head is not None:
        tensors["lm_head.weight"] = head
    save_file(tensors, root / "model.safetensors")
    receipt = detect_conflicts(root)
    assert places(receipt, "tie_word_embeddings")["model.safetensors#lm_head.weight"] == state
    assert [f.code for f in receipt.findings if f.field == "tie_word_embeddings"] == codes
    undefined = column(receipt, "tie_word_embeddings").undefined
    assert bool(undefined) == (config.get("tie_word_embeddings", True) is None)


def test_a_stop_of_the_framework_that_no_file_declares_is_a_conflict(
    tree: Tree, defaults: Any
) -> None:
    receipt = detect_conflicts(tree(), defaults(eos_token_id=[2]))
    assert receipt.code == "EOS_CONFLICT"
    assert "the source framework stops at [2]" in receipt.stops[0].detail


def test_two_ambiguous_templates_declare_no_stop(tree: Tree) -> None:
    two = [{"name": n, "template": template("'<|turn|>'") + n} for n in ("default", "tool")]
    receipt = detect_conflicts(tree(tokenizer_config={"chat_template": two}))
    assert [f.code for f in receipt.stops] == ["TEMPLATE_AMBIGUOUS"]
    assert "tokenizer_config.json#/chat_template/1/template" in receipt.stops[0].detail


def test_the_table_shows_four_columns_for_each_field(tree: Tree, defaults: Any) -> None:
    rows = evidence_table(detect_conflicts(tree(config={"eos_token_id": 4}), defaults()))
    assert [*rows[0]] == ["field", "publisher declares", "source does", "undefined", "our choice"]
    by_field = {row["field"]: row for row in rows}
    assert by_field["eos_token_id"]["our choice"] == "STOPPED"
    assert by_field["pad_token_id"]["undefined"] == "no file declares it"
    assert by_field["bos_token_id"]["source does"] == "2"


def test_a_map_of_templates_is_shown_by_its_names(tree: Tree) -> None:
    root = tree()
    extra(root, "processor_config.json", {"chat_template": {"x/y~": "{{ 1 }}"}})
    place = "processor_config.json#/chat_template/x~1y~0"
    digest = hashlib.sha256(b"{{ 1 }}").hexdigest()
    said = {place: f"7 bytes, SHA-256 {digest}"}
    assert places(detect_conflicts(root), "chat_template") == said


ODD: list[Any] = [None, True, -1, 2.5, "x", [], {}, [[]], [None], 2**63, b"bytes", {"a": [1]}]


def test_a_forged_provenance_never_raises_anything_else(tree: Tree) -> None:
    root = tree()
    for value in ODD:
        for rows in (value, {"gguf": value}, {"gguf": {"fields": value}}):
            (root / "provenance.cbor").write_bytes(canon.encode(rows))
            assert detect_conflicts(root).verdict == "accept"
        for key in ("general__architecture", "llama__vocab_size", "tokenizer__chat_template",
                    "llama__rope__freq_base", "llama__rope__scaling__type", "general__license",
                    "tokenizer__ggml__model", "tokenizer__ggml__eos_token_id"):  # fmt: skip
            provenance(root, **{key: value})
            assert canon.encode(detect_conflicts(root).to_map())


def test_a_document_that_is_a_folder_is_refused(tree: Tree) -> None:
    root = tree()
    (root / "processor_config.json").mkdir()
    with pytest.raises(NotPlainFileError, match="a directory"):
        detect_conflicts(root)
