"""What an error shows of its input: one line, of bounded length, that no terminal acts on."""

import json
from pathlib import Path

import pytest

from trlm_lab.errors import (
    JsonDuplicateKeyError,
    JsonError,
    NativeBuildError,
    ProcessCrashedError,
    SourceSpecError,
)
from trlm_lab.errors.root import LONGEST, one_line
from trlm_lab.flows.cli.app import run
from trlm_lab.flows.cli.output import emit_line, emit_table

HOSTILE = "a\x1b[2J\x9b1m\r\n\u202etrlm: sound\u200b\udcff"


def harmless(text: str) -> bool:
    return all(line.isprintable() for line in text.split("\n"))


def test_one_line_shows_what_no_terminal_shows() -> None:
    assert one_line("plain “text” of 日本") == "plain “text” of 日本"
    assert one_line(HOSTILE) == r"a\x1b[2J\x9b1m\r\n\u202etrlm: sound\u200b\udcff"


def test_an_error_is_one_line_whatever_its_facts_hold() -> None:
    error = JsonError(where=HOSTILE, detail=HOSTILE)
    assert str(error).isprintable()
    assert error.text.count(r"\x1b") == 2


def test_the_middle_of_a_long_fact_is_left_out() -> None:
    error = JsonDuplicateKeyError(where="x" * 9999, key="begin" + "x" * 9999)
    assert "begin" in error.detail
    assert error.detail.endswith("occurs twice in one object")
    assert " characters) … " in error.detail
    assert len(error.text) < 2 * LONGEST


def test_the_remedy_is_never_cut() -> None:
    assert "x" * 9999 in SourceSpecError(spec="", forms="x" * 9999).text


@pytest.mark.parametrize(
    "error",
    [
        NativeBuildError(where="rustc", status=1, log="\n" + "x\x1b[2J\n" * 999, command="make"),
        ProcessCrashedError(where="c", ending="1", stderr="; its last words:\nx\x1b[2J\n"),
    ],
)
def test_the_last_words_of_a_program_keep_their_lines(error: Exception) -> None:
    assert "\n" in str(error)
    assert r"x\x1b[2J" in str(error)
    assert harmless(str(error))


def test_lines_and_tables_for_people(capsys: pytest.CaptureFixture[str]) -> None:
    emit_line(HOSTILE)
    emit_table([{"a": HOSTILE, "b": "two\nlines"}])
    shown = capsys.readouterr().out
    assert harmless(shown)
    assert shown.startswith(r"a\x1b[2J")


def test_a_command_that_quotes_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    row = {
        "schema": "trlm.resolution.v1",
        "conflict_id": "0" * 64,
        "code": "EOS_CONFLICT",
        "field": HOSTILE[:-1],
        "kind": "normative_choice",
        "value": "x" * 200_000,
        "reviewer": 1,
        "deviation": "of three words",
    }
    path = tmp_path / "resolution.json"
    path.write_text(json.dumps(row))
    assert run(["describe", "synthetic:llama-small", "--resolution", str(path)]) == 3
    assert run(["check", str(tmp_path / f"{HOSTILE[:5]}.gguf")]) == 3
    said = capsys.readouterr()
    assert len(said.err) < 2 * LONGEST
    assert harmless(said.err + said.out)
