"""One owner of BOS and EOS: template, post-processor, configuration and model card together."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.describe.conftest import post, tokenizer_json
from trlm_lab import errors
from trlm_lab.describe import (
    ConflictReceipt,
    Resolution,
    check_model_directory,
    detect_conflicts,
)
from trlm_lab.describe import load_resolution as load
from trlm_lab.describe.receipt import ConflictFinding

Tree = Callable[..., Path]
TURNS = (
    "{% for m in messages %}<|turn|>{{ m.role }} {{ m.content }}<|stop|>{% endfor %}"
    "{% if add_generation_prompt %}<|turn|>assistant {% endif %}"
)
WITH_BOS = "{{ bos_token }}" + TURNS
CARD = "# A model\n\n```\n<|start|><|turn|>user Hello<|stop|>\n```\n"
PLACE = "tokenizer_config.json#/chat_template"
BOTH = post("<|start|>", "$")


def said(receipt: ConflictReceipt) -> list[tuple[str, str, str, str]]:
    found = [f for f in receipt.findings if f.field.endswith("_insertion")]
    return [(f.code, f.level, f.field, f.where) for f in found]


def row(receipt: ConflictReceipt, field: str) -> dict[str, Any]:
    found = [e.to_map() for e in receipt.evidence if e.field == field]
    return found[0] if found else {}


def model(tree: Tree, template: str, card: str = "", **changes: Any) -> ConflictReceipt:
    config = {"chat_template": template, **changes.pop("tokenizer_config", {})}
    root = tree(tokenizer_config=config, **changes)
    if card:
        (root / "README.md").write_text(card)
    return detect_conflicts(root)


def test_one_owner_each(tree: Tree) -> None:
    receipt = model(tree, WITH_BOS)
    assert said(receipt) == []
    bos = row(receipt, "bos_insertion")
    assert [(d["file"], d["value"]) for d in bos["publisher"]] == [
        ("tokenizer_config.json", "writes it"),
        ("tokenizer.json", "inserts none"),
    ]
    assert (bos["source"], bos["chosen"]) == (None, "template")
    assert row(receipt, "eos_insertion")["chosen"] == "template"
    receipt = model(tree, TURNS, tokenizer=BOTH)
    assert said(receipt) == []
    assert row(receipt, "bos_insertion")["chosen"] == "post_processor"


def test_nobody_speaks_of_it(tree: Tree) -> None:
    receipt = model(tree, TURNS.replace("<|stop|>", ""))
    assert (row(receipt, "bos_insertion"), row(receipt, "eos_insertion")) == ({}, {})


def test_double_bos_is_one_note(tree: Tree) -> None:
    receipt = model(tree, WITH_BOS, tokenizer=BOTH)
    assert said(receipt) == [("DOUBLE_INSERTION", "note", "bos_insertion", PLACE)]
    bos = row(receipt, "bos_insertion")
    assert [d["value"] for d in bos["publisher"]] == ["writes it", "inserts it"]
    assert (bos["source"], bos["chosen"]) == ("template", "template")
    assert receipt.verdict == "accept"


def test_an_eos_behind_the_prefix_of_the_answer(tree: Tree) -> None:
    receipt = model(tree, TURNS, tokenizer=post("$", "<|stop|>"))
    assert said(receipt) == [("DOUBLE_INSERTION", "note", "eos_insertion", PLACE)]


@pytest.mark.parametrize(
    ("tokenizer", "flag", "wrong"),
    [(BOTH, True, False), (tokenizer_json(), False, False),
     (BOTH, False, True), (tokenizer_json(), True, True)],
)  # fmt: skip
def test_add_bos_token_speaks_of_the_post_processor(
    tree: Tree, tokenizer: dict[str, Any], flag: bool, wrong: bool
) -> None:
    receipt = model(tree, TURNS, tokenizer=tokenizer, tokenizer_config={"add_bos_token": flag})
    where = "tokenizer_config.json#/add_bos_token"
    expected = [("INSERTION_CONFLICT", "error", "bos_insertion", where)]
    assert said(receipt) == expected * wrong
    assert row(receipt, "bos_insertion")["publisher"][-1]["value"] is flag
    assert (receipt.verdict == "stop") is wrong


def test_add_bos_token_false_beside_a_template_that_writes_it(tree: Tree) -> None:
    assert said(model(tree, WITH_BOS, tokenizer_config={"add_bos_token": False})) == []


def test_add_eos_token(tree: Tree) -> None:
    receipt = model(tree, TURNS, tokenizer_config={"add_eos_token": True})
    where = "tokenizer_config.json#/add_eos_token"
    assert said(receipt) == [("INSERTION_CONFLICT", "error", "eos_insertion", where)]


@pytest.mark.parametrize(
    ("template", "tokenizer", "wrong"),
    [(WITH_BOS, None, False), (TURNS, BOTH, False), (TURNS, None, True)],
)
def test_a_turn_of_the_card_that_begins_with_bos(
    tree: Tree, template: str, tokenizer: dict[str, Any] | None, wrong: bool
) -> None:
    receipt = model(tree, template, CARD, tokenizer=tokenizer)
    expected = [("INSERTION_CONFLICT", "error", "bos_insertion", "README.md, line 4")]
    assert said(receipt) == expected * wrong
    assert row(receipt, "bos_insertion")["publisher"][-1]["file"] == "README.md"


def choice(
    receipt: ConflictReceipt, finding: ConflictFinding, value: str, folder: Path
) -> Resolution:
    """A file that settles one finding."""
    document = {
        "schema": "trlm.resolution.v1", "conflict_id": receipt.conflict_id(finding),
        "code": finding.code, "field": finding.field, "kind": "normative_choice",
        "value": value, "reviewer": "A. Reviewer", "deviation": "No BOS is put before a text.",
    }  # fmt: skip
    file = folder / "choice.json"
    file.write_text(json.dumps(document))
    return load(file)


def test_two_conflicts_of_one_field_are_settled_one_by_one(tree: Tree, tmp_path: Path) -> None:
    root = tree(tokenizer_config={"chat_template": TURNS, "add_bos_token": True})
    (root / "README.md").write_text(CARD)
    receipt = detect_conflicts(root)
    card, flag = sorted(receipt.stops, key=lambda f: f.where)
    assert (flag.code, flag.field) == (card.code, card.field)
    assert receipt.conflict_id(flag) != receipt.conflict_id(card)
    one, other = (choice(receipt, f, "neither", tmp_path) for f in (flag, card))
    for file, left in ((one, card), (other, flag)):
        half = detect_conflicts(root, None, [file])
        assert half.stops == (left,)
        assert half.conflict_id(left) == receipt.conflict_id(left)
    assert detect_conflicts(root, None, [one, other]).verdict == "accept"
    another = choice(receipt, card, "template", tmp_path)
    with pytest.raises(errors.ResolutionValueError, match="another file says 'neither'"):
        detect_conflicts(root, None, [one, another])


def test_a_choice_settles_it(tree: Tree, tmp_path: Path) -> None:
    flag = {"add_bos_token": True}
    receipt = model(tree, TURNS, tokenizer_config=flag)
    (finding,) = receipt.stops
    root = tree(tokenizer_config={"chat_template": TURNS, **flag})
    settled = detect_conflicts(root, None, [choice(receipt, finding, "neither", tmp_path)])
    assert settled.verdict == "accept"
    assert row(settled, "bos_insertion")["chosen"] == "neither"
    with pytest.raises(errors.ResolutionValueError, match="somebody"):
        detect_conflicts(root, None, [choice(receipt, finding, "somebody", tmp_path)])


@pytest.mark.parametrize("template", ["{{ messages.__class__ }}", "{{ raise_exception('no') }}"])
def test_a_template_that_renders_nothing_says_nothing(tree: Tree, template: str) -> None:
    assert said(model(tree, template, tokenizer=BOTH)) == []


def test_check_says_it_once(tree: Tree) -> None:
    root = tree(tokenizer_config={"chat_template": WITH_BOS}, tokenizer=BOTH)
    found = [f for f in check_model_directory(root) if f["code"] == "DOUBLE_INSERTION"]
    assert [(f["level"], f["where"]) for f in found] == [("note", PLACE)]
    assert found[0]["detail"].startswith("BOS would be inserted twice: the template wrote it")
    assert "Fix" not in found[0]["detail"]
    assert "add_special_tokens=False" in found[0]["fix"]
