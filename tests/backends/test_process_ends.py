"""The process adapter: crashes, hangs, limits and signals leave nothing behind."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.backends.stub_process import CASE, STUB, gone_soon, observed, raised, stub
from trlm_lab.backends import process_launch
from trlm_lab.backends.process import ProcessRunner
from trlm_lab.backends.process_command import ProcessCommand
from trlm_lab.base.interfaces import Subject
from trlm_lab.base.records import Outcome
from trlm_lab.base.records.outcome import outcome_of_error
from trlm_lab.errors import (
    ProcessCrashedError,
    ProcessTimeoutError,
)


def test_a_crash_is_infra_with_the_last_words(subject: Subject) -> None:
    error = raised("crash", subject, ProcessCrashedError)
    assert "exit status 7" in error.text
    assert "has no layer 3" in error.text
    assert outcome_of_error(error.code) is Outcome.INFRA


def test_a_signal_is_named(subject: Subject) -> None:
    assert "SIGSEGV" in raised("signal", subject, ProcessCrashedError).text


def test_a_hang_is_killed_with_its_whole_group(subject: Subject) -> None:
    command = ProcessCommand((sys.executable, "-S", str(STUB.parent / "hang.py")))
    with ProcessRunner(command, timeout=3.0).open(subject) as session:
        with pytest.raises(ProcessTimeoutError) as caught:
            session.prepare([CASE])
        grandchild = int(next(session._room.rglob("grandchild")).read_text())
    assert "waiting for a device" in caught.value.text
    assert outcome_of_error(caught.value.code) is Outcome.INFRA
    assert gone_soon(grandchild)


DRIVER = """
import sys
from pathlib import Path
from trlm_lab.backends.process_command import ProcessCommand
from trlm_lab.backends.process_launch import launch
out = Path(sys.argv[2])
launch(ProcessCommand((sys.executable, "-S", sys.argv[1])), out / "request", out, out / "log")
"""


def _pids(out: Path) -> list[int]:
    """Runtime and grandchild, once both have started."""
    for _ in range(1000):
        if all((out / name).exists() for name in ("runtime", "grandchild")):
            return [int((out / name).read_text()) for name in ("runtime", "grandchild")]
        time.sleep(0.02)
    raise AssertionError("the runtime did not start")


@pytest.mark.parametrize(
    ("number", "status", "survivors"),
    [
        (signal.SIGTERM, 128 + signal.SIGTERM, 0),
        (signal.SIGHUP, 128 + signal.SIGHUP, 0),
        (signal.SIGINT, -signal.SIGINT, 0),
        # Nobody can act on SIGKILL: the kernel ends the runtime, and the grandchild is on its own.
        (signal.SIGKILL, -signal.SIGKILL, 1),
    ],
)
def test_a_workbench_that_is_ended_leaves_no_runtime(
    tmp_path: Path, number: int, status: int, survivors: int
) -> None:
    command = [sys.executable, "-c", DRIVER, str(STUB.parent / "hang.py"), str(tmp_path)]
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as driver:
        runtime, grandchild = _pids(tmp_path)
        driver.send_signal(number)
        assert driver.wait(60) == status
    assert gone_soon(runtime)
    if survivors:
        os.kill(grandchild, signal.SIGKILL)
    assert gone_soon(grandchild)


def test_any_error_on_our_side_ends_the_whole_group(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found: list[int] = []

    def fail(pid: int, seconds: float) -> bool:
        found.extend(_pids(tmp_path))
        raise RuntimeError("ours")

    monkeypatch.setattr(process_launch, "_ended_within", fail)
    command = ProcessCommand((sys.executable, "-S", str(STUB.parent / "hang.py")))
    with pytest.raises(RuntimeError, match="ours"):
        process_launch.launch(command, tmp_path / "request", tmp_path, tmp_path / "log")
    assert [gone_soon(pid) for pid in found] == [True, True]


def test_signals_are_as_before_after_a_call(subject: Subject) -> None:
    before = [signal.getsignal(s) for s in process_launch.ENDING]
    observed(stub("none"), subject)
    assert [signal.getsignal(s) for s in process_launch.ENDING] == before


def test_a_grandchild_left_behind_does_not_hold_up_the_call(subject: Subject) -> None:
    # The grandchild keeps the standard error open for ten minutes and is killed with the group.
    assert "logits" in observed(stub("grandchild"), subject)


def test_memory_limit(subject: Subject) -> None:
    error = raised("memory", subject, ProcessCrashedError, memory_bytes=700 << 20)
    assert "MemoryError" in error.text
    assert "logits" in observed(stub("memory"), subject)


def test_file_limit(subject: Subject) -> None:
    error = raised("flood", subject, ProcessCrashedError, file_bytes=1 << 20)
    assert "SIGXFSZ" in error.text or "File too large" in error.text
