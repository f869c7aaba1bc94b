"""`trlm render`: conversations in, rendered text with owners out, bad lines in their place."""

import io
import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.chat.conversations import CONVERSATIONS, TEMPLATES, TOOLS, VARIABLES
from trlm_lab.flows.cli.app import run

Capture = pytest.CaptureFixture[str]
Row = dict[str, Any]
SOURCE = (
    "{{ bos_token }}{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}"
    "{% if add_generation_prompt %}<assistant>{% endif %}"
)
HI = {"messages": [{"role": "user", "content": "é"}], "variables": {"bos_token": "<s>"}}


class Command:
    """`trlm render` on a template, with JSON lines on its standard input."""

    def __init__(self, capsys: Capture, patch: pytest.MonkeyPatch, folder: Path) -> None:
        self._capsys, self._patch = capsys, patch
        self.template = folder / "t.jinja"
        self.template.write_text(SOURCE)

    def __call__(self, lines: bytes, engine: str = "python", *, status: int = 0) -> list[Row]:
        self._patch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(lines)))
        words = ["render", "--template", str(self.template), "--engine", engine]
        assert run(words) == status
        self.output = self._capsys.readouterr()
        return [json.loads(line) for line in self.output.out.split("\n")[:-1]]


@pytest.fixture
def command(capsys: Capture, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Command:
    return Command(capsys, monkeypatch, tmp_path)


def lines(*rows: Any) -> bytes:
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)


@pytest.mark.parametrize("engine", ["python", "jinja", "native", "wasm"])
def test_text_and_owners(command: Command, engine: str) -> None:
    rows = command(lines(HI, {**HI, "add_generation_prompt": True}), engine)
    head = [[0, 3, "bos"], [3, 9, "template"], [9, 11, "content"]]
    assert rows[0] == {"text": "<s><user>é", "ownership": head}
    assert rows[1]["text"] == "<s><user>é<assistant>"
    assert rows[1]["ownership"] == [*head, [11, 22, "generation_prefix"]]


def test_the_source_is_not_asked_for_a_template_that_runs_away(
    command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It would render for an hour."""
    loop = "{% for a in range(99999) %}"
    command.template.write_text(loop + loop + "{{ a }}" + "{% endfor %}" * 2)
    asked = "trlm_lab.backends.source_template.SourceTemplate.render"
    monkeypatch.setattr(asked, lambda *given, **more: pytest.fail("asked"))
    (row,) = command(lines(HI), "jinja", status=3)
    assert row["error"]["code"] == "TEMPLATE_LIMIT"


def test_a_template_outside_the_subset_that_runs_away(
    command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing counts its steps; its process has an end, and the next line is answered."""
    monkeypatch.setattr("trlm_lab.flows.rendering.SECONDS", 0.5)
    command.template.write_text("{{ 'x' | center(n ** (n ** n)) }}")
    rows = command(lines({"n": 9}, {"n": 1}), "jinja", status=3)
    assert rows[0]["error"]["code"] == "TEMPLATE_LIMIT"
    assert rows[0]["error"]["detail"] == "processor seconds: more is above the limit 0.5"
    assert rows[1] == {"text": "x", "ownership": None}


def test_both_engines_answer_alike(command: Command) -> None:
    given = lines(
        *(
            {
                "messages": messages,
                "add_generation_prompt": True,
                "tools": TOOLS,
                "variables": VARIABLES,
            }
            for name, messages in CONVERSATIONS.items()
            if name != "huge"
        )
    )
    for name in ("chatml", "headers", "hermes_tools"):
        command.template.write_text(TEMPLATES[name])
        status = 3 if name != "chatml" else 0
        ours = command(given, "python", status=status)
        theirs = command(given, "jinja", status=status)
        for one, other in zip(ours, theirs, strict=True):
            assert one.get("text") == other.get("text")
            assert one.get("ownership") == other.get("ownership")
            assert ("error" in one) == ("error" in other)


def test_further_keys_are_variables(command: Command) -> None:
    command.template.write_text("{{ date_string }}{{ messages | length }}")
    assert command(lines({"date_string": "today"}))[0]["text"] == "today0"


def test_bad_lines_in_their_place(command: Command) -> None:
    bad = [
        b'{"messages": [',
        b'{"a": "\xff"}',
        b"[1]",
        b'{"messages": 5}',
        b'{"messages": [5]}',
        b'{"messages": [], "messages": []}',
        b'{"variables": []}',
        b'{"a": 1, "variables": {"a": 2}}',
        b'{"add_generation_prompt": 1}',
        b'{"messages": [{"role": "user", "content": "\\ud800"}]}',
    ]
    rows = command(lines(HI) + b"\n".join(bad) + b"\n" + lines(HI), status=3)
    assert [row.get("error", {}).get("code", "served") for row in rows] == [
        "served",
        "JSON",
        rows[2]["error"]["code"],
        "JSON",
        "CHAT_INPUT",
        "CHAT_INPUT",
        "DUPLICATE_KEY",
        "CHAT_INPUT",
        "CHAT_INPUT",
        "CHAT_INPUT",
        "JSON",
        "served",
    ]
    assert rows[2]["error"]["index"] == 7
    assert all(row["error"]["where"] and row["error"]["fix"] for row in rows[1:-1])


@pytest.mark.parametrize("engine", ["python", "jinja"])
def test_the_clock_and_the_template_s_own_refusal(command: Command, engine: str) -> None:
    command.template.write_text("{{ strftime_now('%Y') }}{{ raise_exception('no') if messages }}")
    dated = {"variables": {"strftime_now": "2025"}}
    rows = command(lines({}, dated, {**dated, "messages": HI["messages"]}), engine, status=3)
    assert rows[0]["error"]["code"] == "NONDETERMINISTIC_TEMPLATE"
    assert rows[1]["text"] == "2025"
    assert rows[2]["error"]["code"] == "TEMPLATE_RAISED"


def test_findings_stand_beside_the_text(command: Command) -> None:
    command.template.write_text("<s>{{ messages[0].content.split('|')[-1] }}")
    row = command(lines({"messages": [{"role": "user", "content": "lost|kept"}]}))[0]
    assert row["findings"] == ["LOSSY_CONTENT at messages[0]"]


def test_what_only_the_source_renders_has_no_owners(command: Command) -> None:
    command.template.write_text("{{ 'x' | center(3) }}")
    assert command(lines({}), "jinja") == [{"text": " x ", "ownership": None}]
    assert command(b"", status=3) == []
    assert "the filter 'center'" in command.output.err
    assert "t.jinja line 1" in command.output.err


@pytest.mark.parametrize(
    ("engine", "status", "code"),
    [("perl", 2, "UNKNOWN_NAME"), ("native-scalar", 2, "UNKNOWN_NAME")],
)
def test_engines_that_do_not_exist(command: Command, engine: str, status: int, code: str) -> None:
    assert command(lines(HI), engine, status=status) == []
    assert code in command.output.err
    assert engine in command.output.err


@pytest.mark.parametrize("engine", ["python", "jinja"])
def test_no_template(command: Command, engine: str) -> None:
    for source in (b"{% if %}", b"\xff"):
        command.template.write_bytes(source)
        command(lines(HI), engine, status=3)
        assert "TEMPLATE_SYNTAX" in command.output.err
    command.template.unlink()
    command(lines(HI), engine, status=3)
    assert "t.jinja" in command.output.err
