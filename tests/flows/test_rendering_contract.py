"""`trlm render --strict` and `--tokenizer`, and `trlm tokenize` of segments: one owner a token."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.flows.test_rendering import HI, SOURCE, lines
from tests.flows.test_tokenizing import Command
from tests.text.components import ADDED, byte_level, kind
from tests.text.constructed import byte_bpe, document
from trlm_lab.text import read_tokenizer

Capture = pytest.CaptureFixture[str]
PLAIN = SOURCE.removeprefix("{{ bos_token }}")
#: Added tokens are numbered behind the vocabulary.
BOS = read_tokenizer(document(byte_bpe(), added_tokens=ADDED)).added[0].id
ENGINES = ["python", "jinja", "native"]


def around(*single: str) -> dict[str, Any]:
    """A tokenizer whose post-processor puts `<s>` where it stands here, `$` for the text."""
    pieces = [{"Sequence": {"id": "A", "type_id": 0}} if p == "$" else
              {"SpecialToken": {"id": p, "type_id": 0}} for p in single]  # fmt: skip
    special = {"<s>": {"id": "<s>", "ids": [BOS], "tokens": ["<s>"]}}
    pair = [*pieces, {"Sequence": {"id": "B", "type_id": 1}}]
    post = kind("TemplateProcessing", single=pieces, pair=pair, special_tokens=special)
    return document(byte_bpe(), pre_tokenizer=byte_level(), added_tokens=ADDED, post_processor=post)


@pytest.fixture
def command(capsys: Capture, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Command:
    """A command over a tokenizer that puts <s> before a text; `t.jinja` stands beside it."""
    (tmp_path / "tokenizer.json").write_text(json.dumps(around("<s>", "$")))
    (tmp_path / "t.jinja").write_text(SOURCE)
    return Command(capsys, monkeypatch, tmp_path / "tokenizer.json")


def render(command: Command, given: bytes, *options: str, status: int = 0) -> list[dict[str, Any]]:
    template = command.tokenizer.parent / "t.jinja"
    return command(given, "render", "--template", str(template), *options, status=status)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_second_bos_is_refused_in_its_place(command: Command, engine: str) -> None:
    plain = {"messages": HI["messages"], "variables": {"bos_token": ""}}
    first, second = render(command, lines(HI, plain), "--engine", engine, status=3)
    assert (first["error"]["code"], first["error"]["line"]) == ("DOUBLE_INSERTION", 1)
    assert "BOS would be inserted twice" in first["error"]["detail"]
    assert second["text"] == "<user>é"


@pytest.mark.parametrize(
    ("template", "single", "owner", "flag"),
    [(SOURCE, "$", "template", False), (PLAIN, "<s>$", "post_processor", True),
     (PLAIN, "$", "neither", False)],
)  # fmt: skip
def test_who_inserts(command: Command, template: str, single: str, owner: str, flag: bool) -> None:
    (command.tokenizer.parent / "t.jinja").write_text(template)
    pieces = ["<s>", "$"] if single.startswith("<s>") else ["$"]
    command.tokenizer.write_text(json.dumps(around(*pieces)))
    (row,) = render(command, lines(HI))
    assert row["insertion"] == {"bos": owner, "eos": "neither", "add_special_tokens": flag}


def test_a_typed_token_owns_nothing(command: Command) -> None:
    (command.tokenizer.parent / "t.jinja").write_text("{{ messages[0].content }}")
    (row,) = render(command, lines({"messages": [{"role": "user", "content": "<s>x"}]}))
    assert row["insertion"]["bos"] == "post_processor"


@pytest.mark.parametrize("engine", ENGINES)
def test_strict_names_what_the_contract_forbids(command: Command, engine: str) -> None:
    tools = {**HI, "tools": [{"type": "function"}], "variables": {"bos_token": ""}}
    blocks = {"messages": [{"role": "user", "content": [{"type": "text", "text": "a"}]}]}
    given = lines(tools, {**HI, "variables": {"bos_token": ""}}, blocks)
    rows = render(command, given, "--strict", "--engine", engine, status=3)
    assert rows[0]["error"]["code"] == "FORBIDDEN_FIELD"
    assert rows[0]["error"]["where"] == "tools"
    assert "forbids tools" in rows[0]["error"]["detail"]
    assert rows[1]["text"] == "<user>é"
    assert "text" in render(command, lines(tools), "--engine", engine)[0]


@pytest.mark.parametrize("engine", ["python", "native"])
def test_segments_with_a_token_of_the_template_and_of_the_post_processor(
    command: Command, engine: str
) -> None:
    bos, typed = ({"text": "<s>", "owner": owner} for owner in ("template", "content"))
    text = {"text": "he", "owner": "content"}
    given = lines({"segments": [bos, text]}, {"segments": [typed, text]}, {"text": "he"})
    words = ("tokenize", "--engine", engine, "--add-special-tokens")
    rows = command(given, *words, status=3)
    assert rows[0]["error"]["code"] == "DOUBLE_INSERTION"
    assert "the template wrote it" in rows[0]["error"]["detail"]
    assert rows[1]["ids"][0] == rows[2]["ids"][0]
    assert rows[1]["ids"].count(rows[1]["ids"][0]) == 1
    assert command(given, "tokenize", "--engine", engine)[0]["ids"][0] == rows[2]["ids"][0]
    command.tokenizer.write_text(json.dumps(around("$", "<s>")))
    (last,) = command(lines({"segments": [text, bos]}), *words, status=3)
    assert last["error"]["code"] == "DOUBLE_INSERTION"


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("messages", [5, None, "x", {}, [5], [None], ["x"], [[]]])
def test_strict_refuses_what_is_no_conversation_in_its_place(
    command: Command, engine: str, messages: Any
) -> None:
    sound = {"messages": HI["messages"], "variables": {"bos_token": ""}}
    given = lines({"messages": messages}, sound)
    first, second = render(command, given, "--strict", "--engine", engine, status=3)
    assert (first["error"]["code"], first["error"]["line"]) == ("CHAT_INPUT", 1)
    assert second["text"] == "<user>é"


@pytest.mark.timeout(60)
@pytest.mark.parametrize("engine", ENGINES)
def test_no_engine_counts_without_end(command: Command, engine: str) -> None:
    (command.tokenizer.parent / "t.jinja").write_text("{{ 2 ** x }}")
    given = lines({"messages": [], "x": 10**21}, {"messages": [], "x": 3})
    first, second = render(command, given, "--engine", engine, status=3)
    assert first["error"]["code"] == "CHAT_INPUT"
    assert second["text"] == "8"
