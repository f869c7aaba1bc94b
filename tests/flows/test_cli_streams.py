"""The command under a caller who closed a standard stream, or whose disk is full."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

TRLM = [sys.executable, "-m", "trlm_lab.flows.cli"]


def shell(words: list[str], redirection: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    script = f'exec "$@" {redirection}'
    return subprocess.run(
        ["/bin/sh", "-c", script, "sh", *TRLM, *words],
        capture_output=True, text=True, cwd=cwd, check=False, input="",
        env=os.environ | {"PYTHONPATH": str(Path(__file__).parents[2])},
    )  # fmt: skip


@pytest.fixture
def template(tmp_path: Path) -> Path:
    (tmp_path / "t.jinja").write_text("{{ messages }}")
    return tmp_path


def test_closed_output_is_one_line_and_4(template: Path) -> None:
    found = shell(["check", "t.jinja"], ">&-", template)
    assert (found.returncode, found.stderr.count("\n")) == (4, 1)
    assert found.stderr.startswith("trlm: SYSTEM_REFUSED at standard output: ")


def test_closed_input_is_an_empty_one(template: Path) -> None:
    found = shell(["render", "--template", "t.jinja"], "<&-", template)
    assert (found.returncode, found.stdout, found.stderr) == (0, "", "")


def test_closed_standard_error_says_nothing_elsewhere(template: Path) -> None:
    found = shell(["check", "nowhere", "--json"], "2>&-", template)
    assert found.returncode == 3
    assert json.loads(found.stdout)["error"]["code"] == "PATH_MISSING"


@pytest.mark.parametrize("words", [["--version"], ["check", "nowhere", "--json"]])
def test_full_output_is_one_line_and_4(template: Path, words: list[str]) -> None:
    found = shell(words, ">/dev/full", template)
    assert (found.returncode, found.stderr.count("\n")) == (4, 1), found.stderr
    assert "No space left on device" in found.stderr
