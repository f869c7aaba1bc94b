"""The process adapter: command lines, runner files and the environment of the program."""

import json
import os
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from tests.backends.stub_process import STUB, observed, stub
from trlm_lab.backends.process import ProcessRunner
from trlm_lab.backends.process_command import Limits, ProcessCommand
from trlm_lab.base import canon
from trlm_lab.base.interfaces import Subject
from trlm_lab.base.records import Outcome
from trlm_lab.base.records.node_kinds import absolute_path
from trlm_lab.base.records.outcome import outcome_of_error
from trlm_lab.errors import (
    ProcessCommandError,
    ProcessCrashedError,
    ProgramMissingError,
    RunnerFileError,
)


def test_only_allowed_variables_pass(subject: Subject, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("A_SECRET_TOKEN", "1")
    command = replace(stub("environment"), environment=("HOME",))
    with pytest.raises(ProcessCrashedError) as caught:
        observed(command, subject)
    assert "A_SECRET_TOKEN" not in caught.value.text
    assert "PATH" in caught.value.text


def test_a_command_line_is_split_without_a_shell(subject: Subject) -> None:
    runner = ProcessRunner(f"'{sys.executable}' '{STUB}' none", timeout=5.0)
    assert runner.command.arguments == (sys.executable, str(STUB), "none")
    assert runner.command.limits.seconds == 5.0
    assert ProcessRunner("a '$HOME;x'").command.arguments == ("a", "$HOME;x")


def test_an_argument_too_long_for_a_path_is_an_argument() -> None:
    command = ProcessRunner(f"python {'x' * 5000} {'y' * 300}.json").command
    assert command.identity()["arguments"][0]["text"] == "x" * 5000


def test_a_script_among_the_arguments_shows_no_path() -> None:
    for argument in ("exec /opt/x/run --fast", "import os; os.chdir('/opt/x')", "--at=/opt/x y/z"):
        (shown,) = ProcessRunner(f'sh "{argument}"').command.identity()["arguments"]
        assert absolute_path(shown) == ""
        assert shown["text"] or shown["text_sha256"] == canon.sha256_hex(argument.encode())
    assert ProcessRunner("sh /opt/x/run").command.identity()["arguments"] == [{"text": "run"}]


@pytest.mark.parametrize("command", ["", "  ", "python 'x", "nowhere/runner.json"])
def test_a_command_that_is_none(command: str) -> None:
    with pytest.raises(ProcessCommandError):
        ProcessRunner(command)


def test_a_missing_program(subject: Subject) -> None:
    runner = ProcessRunner("no-such-program-anywhere --flag")
    assert not runner.availability().available
    with pytest.raises(ProgramMissingError) as caught:
        runner.open(subject)
    assert outcome_of_error(caught.value.code) is Outcome.INFRA


def _runner_file(path: Path, **fields: object) -> Path:
    row = {"schema": "trlm.process.runner.v1", "arguments": ["python3", "stub.py", "none"]}
    path.write_text(json.dumps({**row, **fields}))
    return path


def test_a_runner_file(subject: Subject, tmp_path: Path) -> None:
    (tmp_path / "stub.py").write_bytes(STUB.read_bytes())
    file = _runner_file(
        tmp_path / "runner.json",
        environment=["HOME"],
        limits={"seconds": 50, "memory_bytes": 1 << 33},
        x_note="ours",
    )
    runner = ProcessRunner(str(file))
    assert runner.command.limits == Limits(50, 1 << 33)
    assert runner.command.environment == ("HOME",)
    assert runner.command.arguments[1] == str(tmp_path / "stub.py")
    assert "logits" in observed(runner.command, subject)


@pytest.mark.parametrize(
    ("fields", "word"),
    [
        ({"schema": "v2"}, "schema"),
        ({"arguments": []}, "empty"),
        ({"arguments": "python x"}, "no list"),
        ({"environment": {"A": "b"}}, "environment"),
        ({"limits": {"seconds": -1}}, "limits.seconds"),
        ({"limits": {"memory_bytes": 1.5}}, "limits.memory_bytes"),
        ({"limits": {"cpus": 1}}, "limits.cpus"),
        ({"shell": True}, "shell"),
    ],
)
def test_a_bad_runner_file(tmp_path: Path, fields: dict[str, object], word: str) -> None:
    file = _runner_file(tmp_path / "runner.json", **fields)
    with pytest.raises(RunnerFileError) as caught:
        ProcessRunner(str(file))
    assert word in caught.value.detail


def test_a_runner_file_that_is_no_json(tmp_path: Path) -> None:
    (tmp_path / "r.json").write_text('{"schema": "a", "schema": "b"}')
    with pytest.raises(RunnerFileError):
        ProcessRunner(str(tmp_path / "r.json"))


def test_the_workbench_programs_come_last_in_an_activated_environment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    own = str(Path(sys.executable).parent)
    monkeypatch.setenv("PATH", "/somewhere")
    monkeypatch.delenv("CONDA_PREFIX", raising=False)
    monkeypatch.setenv("VIRTUAL_ENV", "/else")
    assert ProcessCommand(("x",)).visible_environment()["PATH"] == f"/somewhere{os.pathsep}{own}"
    monkeypatch.delenv("VIRTUAL_ENV")
    assert ProcessCommand(("x",)).visible_environment()["PATH"] == f"{own}{os.pathsep}/somewhere"
