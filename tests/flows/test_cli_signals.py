"""The command under a shell: closed pipes and stop signals end it quietly and wholly."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import psutil
import pytest

from tests.flows.test_cli import cases_file
from trlm_lab.flows.acquisition import Source
from trlm_lab.flows.cli import main
from trlm_lab.flows.packing import Packed

pytestmark = pytest.mark.xdist_group("flows")

TRLM = [sys.executable, "-m", "trlm_lab.flows.cli"]
#: A runtime that starts a child of its own, says both numbers and never answers.
HANGING = """
import os, subprocess, sys, time
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
with open(sys.argv[1] + ".new", "w") as out:
    out.write(f"{os.getpid()} {child.pid}")
os.rename(sys.argv[1] + ".new", sys.argv[1])
time.sleep(600)
"""


@pytest.mark.parametrize("as_json", [False, True])
def test_a_closed_pipe_is_141_and_silent(small_artifacts: dict[str, Packed], as_json: bool) -> None:
    path = str(small_artifacts["f32"].artifact.path)
    command = [*TRLM, "inspect", path, *(["--json"] if as_json else [])]
    read, write = os.pipe()
    with subprocess.Popen(command, stdout=write, stderr=subprocess.PIPE, text=True) as process:
        # The reader is gone before the first word.
        os.close(read)
        os.close(write)
        _, said = process.communicate()
    assert process.returncode == 141
    assert said == ""


def test_a_refusal_into_a_closed_pipe() -> None:
    read, write = os.pipe()
    command = [*TRLM, "inspect", "/no/such/file", "--json"]
    with subprocess.Popen(command, stdout=write, stderr=subprocess.PIPE, text=True) as process:
        os.close(read)
        os.close(write)
        _, said = process.communicate()
    assert process.returncode == 141
    assert said == ""


@pytest.fixture
def hanging(tmp_path: Path) -> Iterator[tuple[str, Path]]:
    """A process backend that hangs, and the file where it says its numbers."""
    program, told = tmp_path / "hang.py", tmp_path / "told"
    program.write_text(HANGING)
    yield f"process:{sys.executable} {program} {told}", told
    for number in told.read_text().split() if told.exists() else ():
        if psutil.pid_exists(int(number)):
            os.kill(int(number), signal.SIGKILL)


def wait_for(path: Path, process: subprocess.Popen[str]) -> list[int]:
    while not path.exists():
        assert process.poll() is None, "the command ended early"
        time.sleep(0.05)
    return [int(number) for number in path.read_text().split()]


def is_running(number: int) -> bool:
    try:
        return psutil.Process(number).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


@pytest.mark.slow
@pytest.mark.parametrize(
    ("command", "number", "status", "said"),
    [
        ("bisect", signal.SIGTERM, 143, "stopped by SIGTERM"),
        ("bisect", signal.SIGHUP, 129, "stopped by SIGHUP"),
        ("bisect", signal.SIGINT, 130, "interrupted"),
        # The runtime waits in a worker thread here, where no exception of the main one arrives.
        ("run", signal.SIGTERM, 143, "stopped by SIGTERM"),
    ],
)
def test_a_stop_signal_leaves_nothing_running(
    small_source: Source,
    hanging: tuple[str, Path],
    tmp_path: Path,
    command: str,
    number: signal.Signals,
    status: int,
    said: str,
) -> None:
    backend, told = hanging
    cases, scratch = str(cases_file(tmp_path)), tmp_path / "scratch"
    scratch.mkdir()
    arguments = {
        "bisect": ["bisect", "--backend", backend, "--model", str(small_source.root), "--cases",
                   cases],
        "run": ["run", str(small_source.root), "--out", str(tmp_path / "out"), "--backends",
                f"reference,{backend}", "--cases", cases, "--calibration", "small-calibration",
                "--quant", "f32"],
    }[command]  # fmt: skip
    environment = {**os.environ, "TMPDIR": str(scratch)}
    with subprocess.Popen(
        [*TRLM, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env=environment,
    ) as process:  # fmt: skip
        numbers = wait_for(told, process)
        process.send_signal(number)
        out, words = process.communicate()
    assert process.returncode == status
    assert said in words
    assert "Traceback" not in words
    assert out == ""
    assert [n for n in numbers if is_running(n)] == []
    assert list(scratch.iterdir()) == []


@pytest.mark.slow
def test_a_second_run_names_the_first(small_source: Source, hanging: tuple[str, Path],
                                      tmp_path: Path) -> None:  # fmt: skip
    backend, told = hanging
    command = [*TRLM, "run", str(small_source.root), "--out", str(tmp_path / "out"), "--backends",
               f"reference,{backend}", "--cases", str(cases_file(tmp_path)), "--calibration",
               "small-calibration", "--quant", "f32"]  # fmt: skip
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as first:
        wait_for(told, first)  # type: ignore[arg-type]
        second = subprocess.run([*command, "--json"], capture_output=True, text=True, check=False)
        first.send_signal(signal.SIGTERM)
        first.communicate()
    assert second.returncode == 4
    error = json.loads(second.stdout)["error"]
    assert error["code"] == "DIRECTORY_BUSY"
    assert f"process {first.pid} " in error["detail"]


def test_an_interruption_while_the_program_is_read(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    class Interrupted(ModuleType):
        def __getattr__(self, name: str) -> object:
            raise KeyboardInterrupt

    name = "trlm_lab.flows.cli.app"
    monkeypatch.setitem(sys.modules, name, Interrupted(name))
    with pytest.raises(SystemExit) as left:
        main()
    assert left.value.code == 130
    assert capsys.readouterr().err == "trlm: interrupted\n"
