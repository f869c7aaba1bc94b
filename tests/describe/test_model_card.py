"""The examples of a model card against ids and vocabulary: right, wrong, and no alarm."""

import itertools
import json
from pathlib import Path

import pytest

from tests.describe.cards import TURN, Tree, fenced, found, judged
from tests.describe.test_evidence import column, places
from trlm_lab import errors
from trlm_lab.describe import ConflictReceipt, detect_conflicts, load_resolution
from trlm_lab.describe.fixes import fix_of

WRONG = {
    "a keyword": fenced("generate(x, eos_token_id=4)"),
    "a list that leaves one out": fenced("generate(x, eos_token_id=[3, 4])"),
    "a list over several lines": fenced("generate(\n  eos_token_id=[\n    4,\n  ],\n)"),
    "JSON": fenced('{"eos_token": "<|turn|>"}', "json"),
    "JSON with an object": fenced('{"eos_token": {"content": "<|turn|>", "lstrip": false}}'),
    "JSON in a shell": fenced('curl -d "{\\"stop\\": \\"<|turn|>\\"}"', "sh"),
    "a call": fenced('tokenizer.eos_token = AddedToken("<|turn|>", special=True)'),
    "a lookup": fenced('eos_token_id=[t.eos_token_id, t.convert_tokens_to_ids("<|turn|>")]'),
    "YAML without quotes": fenced("eos_token: <|turn|>", "yaml"),
    "a stop that is another token": fenced('stop=["<|turn|>"]'),
    "a stop beside a right one": fenced('stop=["<|stop|>", "<|turn|>"]'),
    "a stop that no vocabulary has": fenced('stop="<|im_end|>"'),
    "a stop by its id": fenced("SamplingParams(stop_token_ids=[4])"),
    "stop strings": fenced("generate(stop_strings=['<|turn|>'])"),
    "a build file": fenced('PARAMETER stop "<|turn|>"', ""),
    "a build file without quotes": fenced("PARAMETER stop <|turn|>", ""),
    "another fence": "~~~~\n```\neos_token_id=4\n~~~~\n",
    "a fence in a list": "- so:\n\n   ```\n   eos_token_id=4\n   ```\n",
    "a fence in a quotation": "> ```\n> eos_token_id=4\n> ```\n",
    "a fence without its end": "```\neos_token_id=4\n",
    "inline code": "Give `eos_token_id=4` to stop at a turn.\n",
    "double ticks": "Give ``eos_token_id=4`` to stop at a turn.\n",
    "carriage returns": fenced("eos_token_id=4").replace("\n", "\r\n"),
    "a negative id": fenced("eos_token_id=-1"),
    "a fence that is not closed by another's beginning": "```\n```python\neos_token_id=4\n```\n",
    "an id of 19 digits": fenced("eos_token_id=9223372036854775809"),
    "the front matter": '---\ninference:\n  parameters:\n    stop: ["<|turn|>"]\n---\n',
    "the front matter, line by line": (
        "---\r\ninference:\r\n  parameters:\r\n    stop:\r\n    - <|turn|>\r\n---\r\n"
    ),
    "the front matter, with quoted keys": (
        '---\n"inference": {"parameters": {"eos_token_id": 4}}\n---\n'
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_an_example_with_another_stop_is_one_conflict(tree: Tree, name: str) -> None:
    receipt = judged(tree(), WRONG[name])
    assert [f.code for f in receipt.stops] == ["MODEL_CARD_CONFLICT"]
    stop = receipt.stops[0]
    assert (stop.field, receipt.verdict) == ("eos_token_id", "stop")
    quote = next(v for k, v in places(receipt, "eos_token_id").items() if k.startswith("README"))
    assert stop.where.replace(", ", "#") in places(receipt, "eos_token_id")
    assert quote in detail_of(receipt)
    assert column(receipt, "eos_token_id").chosen is None


def detail_of(receipt: ConflictReceipt) -> str:
    # A quotation stands in a message as `repr` writes it.
    return receipt.stops[0].detail.replace("\\\\", "\\").replace("\\'", "'")


ROLES = {"bos": (2, "<|start|>"), "eos": (3, "<|stop|>"), "pad": (4, "<|turn|>")}
FORMS = {
    "{name}_id={number}": True,
    '"{name}_id": {number},': True,
    "{name}_id = [{number}]": True,
    '{name}="{text}"': True,
    "tokenizer.{name} = '{text}'": True,
    '"{name}": {{"content": "{text}"}}': True,
    "{name}_id == {number}": False,
    "my_{name}_id={number}": False,
    "{name}_ids={number}": False,
    "{name}_id=f({number})": False,
}
PLACES = {
    "block": fenced("CODE"),
    "inline": "Use `CODE` here.\n",
    "prose": "Use CODE here.\n",
    "indented": "Text\n\n    CODE\n",
}


@pytest.mark.parametrize(
    ("role", "form", "place", "right"), [*itertools.product(ROLES, FORMS, PLACES, (True, False))]
)
def test_every_role_in_every_form(
    tree: Tree, role: str, form: str, place: str, right: bool
) -> None:
    number, text = ROLES[role]
    if not right:
        number, text = ROLES["bos" if role == "eos" else "eos"]
    root = tree(config={"pad_token_id": 4})
    code = form.format(name=f"{role}_token", number=number, text=text)
    receipt = judged(root, PLACES[place].replace("CODE", code))
    read = FORMS[form] and place in ("block", "inline")
    wrong = [(f"{role}_token_id", "MODEL_CARD_CONFLICT")] if read and not right else []
    assert [(f.field, f.code) for f in receipt.stops] == wrong
    stated = [d for d in column(receipt, f"{role}_token_id").publisher if d.file == "README.md"]
    assert len(stated) == read


QUIET = {
    "nothing": "",
    "words alone": "# A model\n\nIt writes stories. Its license is in LICENSE.\n",
    "an instruction model": (
        "---\nlibrary_name: transformers\nlicense: apache-2.0\nlanguage: [en]\n"
        "pipeline_tag: text-generation\ntags:\n- safetensors\nbase_model:\n- org/base\n---\n\n"
        "# Small\n\n```bash\npip install transformers\n```\n\n```python\n"
        'messages = [{"role": "user", "content": "What is a comet?"}]\n'
        "prompt = tokenizer.apply_chat_template(messages, tokenize=False)\n"
        "out = model.generate(ids, max_new_tokens=50, temperature=0.2, top_p=0.9, do_sample=True)\n"
        "print(tokenizer.decode(out[0]))\n```\n\n| a | b |\n|---|---|\n| 1 | <b>2</b> |\n"
    ),
    "names that mean themselves": fenced(
        "m.generate(eos_token_id=tokenizer.eos_token_id, bos_token_id=m.config.bos_token_id)\n"
        "if ids[-1] == tokenizer.eos_token_id: stop = True\nstop=None"
    ),
    "the pad that batches take": fenced("generate(pad_token_id=tokenizer.eos_token_id)"),
    "a list of stops by name": fenced(
        'ends = [tokenizer.eos_token_id, tokenizer.convert_tokens_to_ids("<|stop|>")]\n'
        "generate(ids, eos_token_id=ends)\n"
        'generate(ids, eos_token_id=[t.eos_token_id, t.convert_tokens_to_ids("<|stop|>")])'
    ),
    "a service": fenced(
        "SamplingParams(temperature=0.7, top_p=0.8, stop_token_ids=None)\n"
        'client.chat.completions.create(model="org/model", messages=messages, stop=["<|stop|>"])'
    ),
    "its own turns": fenced("<|start|>user\nhi<|stop|>\n<|start|>assistant\n", ""),
    "code in three ticks": "```code``` is code.\n\neos_token_id=4 is a sentence.\n",
    "its own stop": fenced('llm(prompt, stop=["<|stop|>"], stop_token_ids=[3])'),
    "struck words": "It is <s>fast</s> small; a < b | c > d, `a|b`.\n",
    "a widget": "---\nwidget:\n- text: Once upon a time\n- messages:\n  - role: user\n---\n",
    "no hosted inference": "---\ninference: false\n---\n",
    "a rule": "Text\n\n---\n\nstop: [<x>]\n---\n",
    "a training file": fenced("base_model: org/base\nchat_template: chatml\nseed: 4", "yaml"),
}  # fmt: skip


@pytest.mark.parametrize("name", QUIET)
def test_an_ordinary_card_gives_no_alarm(tree: Tree, name: str) -> None:
    assert found(judged(tree(**TURN), QUIET[name])) == []


NOTES: dict[str, tuple[str | bytes, tuple[str, str, str]]] = {
    "a marker in prose": (
        "Others begin with `<|im_start|>`.\n", ("CARD_MARKER", "note", "README.md, line 1")),
    "a turn in inline code": (
        "\n`<|im_start|>user` begins.\n", ("CARD_MARKER", "note", "README.md, line 2")),
    "a list of markers": (
        fenced("<|fim_prefix|>"), ("CARD_MARKER", "note", "README.md, line 4")),
    "a list of stops for several models": (
        fenced('stop=["<|stop|>", "</s>"]'), ("CARD_STOP", "note", "README.md, line 4")),
    "a stop that is a text": (
        fenced('stop=["User:"]'), ("CARD_STOP", "note", "README.md, line 4")),
    "a stop that is a word of the vocabulary": (
        fenced('stop="word"'), ("CARD_STOP", "note", "README.md, line 4")),
    "a name that means another token": (
        fenced("bos_token_id=t.eos_token_id"), ("CARD_REFERENCE", "note", "README.md, line 4")),
    "another temperature": (
        "---\ninference:\n  parameters:\n    temperature: 0.9\n---\n",
        ("CARD_SAMPLING", "note", "README.md, line 4")),
    "a stop that is a digit": (
        '---\ninference: {parameters: {stop: ["3"]}}\n---\n',
        ("CARD_STOP", "note", "README.md, line 2")),
    "YAML that is none": (
        "---\na: b\ninference: [\n---\n", ("CARD_UNREADABLE", "note", "README.md, line 3")),
    "a flow mapping": (
        "---\n{inference: 1}\n---\n", ("CARD_UNREADABLE", "note", "README.md, line 2")),
    "other bytes": (b"A\xff", ("CARD_UNREADABLE", "note", "README.md")),
}  # fmt: skip


@pytest.mark.parametrize("name", NOTES)
def test_what_does_not_contradict_is_a_note(tree: Tree, name: str) -> None:
    card, note = NOTES[name]
    receipt = judged(tree(generation={"temperature": 0.5}, **TURN), card)
    # A stop that is a control token of another model is also a marker that nothing knows.
    assert note in found(receipt)
    assert {row[0] for row in found(receipt)} <= {note[0], "CARD_MARKER"}
    assert all(f.fix and f.fix != fix_of("ANY_CONFLICT") for f in receipt.findings)
    assert receipt.verdict == "accept"


FEWER = {
    "eos_token_id=3": True,
    "eos_token_id=[3]": True,
    "eos_token_id=[4, 3]": False,
    "eos_token_id=[3, tokenizer.eos_token_id]": False,
    "eos_token_id=[3, f(x)[0]]": False,
    'eos_token="<|stop|>"': False,
    'stop=["<|turn|>"]': False,
}


@pytest.mark.parametrize("code", FEWER)
def test_the_argument_is_the_whole_stop_set(tree: Tree, code: str) -> None:
    root = tree(config={"eos_token_id": [3, 4]})
    stops = judged(root, fenced(code)).stops
    assert [f.code for f in stops] == ["MODEL_CARD_CONFLICT"] * FEWER[code]
    assert all("fewer stops" in f.detail for f in stops)


def test_a_name_that_means_itself_declares_nothing(tree: Tree) -> None:
    receipt = judged(tree(), fenced("generate(eos_token_id=tokenizer.eos_token_id)"))
    assert not any(place.startswith("README") for place in places(receipt, "eos_token_id"))


def test_facts_and_sampling_are_rows_of_their_own(tree: Tree) -> None:
    card = "---\nbase_model: [org/a, org/b]\npipeline_tag: text-generation\n---\n" + fenced(
        "generate(temperature=0.2, do_sample=True)"
    )
    receipt = judged(tree(generation={"temperature": 0.2, "do_sample": True}), card)
    assert found(receipt) == []
    assert places(receipt, "temperature") == {
        "generation_config.json#/temperature": 0.2, "README.md#line 8": "temperature=0.2"
    }  # fmt: skip
    assert places(receipt, "base_model") == {"README.md#line 2": "base_model: [org/a, org/b]"}
    assert places(receipt, "pipeline_tag") == {"README.md#line 3": "pipeline_tag: text-generation"}
    assert column(receipt, "do_sample").chosen is None
    assert column(detect_conflicts(tree(generation={})), "temperature").undefined


def test_every_card_is_read(tree: Tree) -> None:
    root = tree()
    judged(root, "# nothing\n")
    for name in ("Readme.txt", "README"):
        receipt = judged(root, fenced("eos_token_id=4"), name)
        assert receipt.stops[0].where == f"{name}, line 4"
        (root / name).unlink()


def test_many_lines_are_one_conflict_that_one_file_settles(tree: Tree, tmp_path: Path) -> None:
    root = tree()
    receipt = judged(root, fenced("eos_token_id=4\neos_token_id=2\nstop=['<|turn|>']"))
    assert len(receipt.stops) == 1
    stop = receipt.stops[0]
    assert all(f"line {number}," in stop.detail for number in (4, 5, 6))
    row = {
        "schema": "trlm.resolution.v1", "conflict_id": receipt.conflict_id(stop),
        "code": stop.code, "field": stop.field, "kind": "normative_choice", "value": [3],
        "reviewer": "A. Reviewer", "deviation": "The card's example is of another model.",
    }  # fmt: skip
    path = tmp_path / "r.txt"
    path.write_text(json.dumps(row))
    settled = detect_conflicts(root, None, [load_resolution(path)])
    assert (settled.verdict, settled.chosen_ids["eos"]) == ("accept", (3,))
    (root / "README.md").write_text(fenced("eos_token_id=4"))
    with pytest.raises(errors.ResolutionUnmatchedError):
        detect_conflicts(root, None, [load_resolution(path)])
