"""Turns, control tokens and templates of a model card against the template of the files."""

import json
from pathlib import Path

import pytest

from tests.describe.cards import TURN, Tree, fenced, found, judged
from tests.describe.test_evidence import places
from trlm_lab import errors
from trlm_lab.describe import detect_conflicts, load_resolution


def test_a_template_that_joins_role_and_mark_writes_the_roles(tree: Tree) -> None:
    joined = "{% for m in messages %}{{ '<|' + m.role + '|>' + m.content + eos_token }}{% endfor %}"
    card = fenced("<|user|>\nhi<|stop|>\n<|assistant|>", "")
    root = tree(tokenizer_config={"chat_template": joined})
    assert found(judged(root, card)) == []
    other = detect_conflicts(tree(**TURN))
    assert [f.code for f in other.stops] == ["MODEL_CARD_CONFLICT"]
    assert "'<|user|>'" in other.stops[0].detail


def test_a_token_of_the_vocabulary_that_the_template_never_writes(tree: Tree) -> None:
    card = fenced("<|start|>user\nhi<|turn|>", "")
    stops = judged(tree(**TURN), card).stops
    assert ["'<|turn|>'" in f.detail for f in stops] == [True]
    assert judged(tree(tokenizer_config={"chat_template": None}), card).stops == ()


def test_a_turn_with_brackets(tree: Tree) -> None:
    card = fenced("[INST] hi [/INST]", "")
    assert [f.code for f in judged(tree(**TURN), card).stops] == ["MODEL_CARD_CONFLICT"]
    llama = "{{ '[INST] ' + messages[0].content + ' [/INST]' }}"
    assert found(judged(tree(tokenizer_config={"chat_template": llama}), card)) == []


def test_a_turn_in_a_widget(tree: Tree) -> None:
    card = '---\nwidget:\n- text: "ü <|im_start|>user\\nhi"\n---\n'
    receipt = judged(tree(**TURN), card)
    stop = receipt.stops[0]
    assert (stop.code, stop.where) == ("MODEL_CARD_CONFLICT", "README.md, line 3")
    assert "<|im_start|>user" in places(receipt, "chat_template")["README.md#line 3"]


def test_a_template_in_the_card(tree: Tree) -> None:
    root, text = tree(**TURN), TURN["tokenizer_config"]["chat_template"]
    same = fenced(f"tokenizer.chat_template = {json.dumps(text)}")
    assert found(judged(root, same)) == []
    assert found(judged(root, same.replace('"{%', '"""{%').replace('%}"', '%}"""'))) == []
    stops = judged(root, fenced('apply_chat_template(m, chat_template="{{ m }}")')).stops
    assert [(f.code, f.field) for f in stops] == [("MODEL_CARD_CONFLICT", "chat_template")]


def test_a_turn_without_any_template_is_settled_by_none(tree: Tree, tmp_path: Path) -> None:
    root = tree()
    receipt = judged(root, fenced("<|im_start|>user", ""))
    stop = receipt.stops[0]
    row = {
        "schema": "trlm.resolution.v1", "conflict_id": receipt.conflict_id(stop),
        "code": stop.code, "field": "chat_template", "kind": "normative_choice", "value": None,
        "reviewer": "A. Reviewer", "deviation": "Prompts are given as plain text.",
    }  # fmt: skip
    path = tmp_path / "r.txt"
    path.write_text(json.dumps(row))
    assert detect_conflicts(root, None, [load_resolution(path)]).verdict == "accept"
    path.write_text(json.dumps({**row, "value": "elsewhere"}))
    with pytest.raises(errors.ResolutionValueError, match=r"none of \[None\]"):
        detect_conflicts(root, None, [load_resolution(path)])
