"""Run one command to its end inside its limits, and leave none of its processes behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import BinaryIO

from trlm_lab.backends import process_exec
from trlm_lab.backends.process_command import ProcessCommand
from trlm_lab.errors import ProcessCrashedError, ProcessTimeoutError

#: How much of the standard error goes into an error message.
TAIL_BYTES = 4096
TAIL_LINES = 12
#: The longest pause between two looks at a running child, seconds.
LONGEST_PAUSE = 0.05
#: Signals that end this process on the spot where nobody handles them.
ENDING = (signal.SIGTERM, signal.SIGHUP)


def launch(command: ProcessCommand, request: Path, outdir: Path, log: Path) -> None:
    """Run `command REQUEST OUTDIR`; standard error goes to the file `log`.

    The process group is killed at the time limit, on an interruption or any other exception, when
    this process is asked to end, and after a normal end: no grandchild outlives the call.

    Raises:
        ProgramMissingError: no such program.
        ProcessTimeoutError: the time limit passed.
        ProcessCrashedError: another exit status than 0, or a signal.
    """
    arguments = _arguments(command, request, outdir)
    with log.open("wb") as errors, _leaving_in_order():
        child = subprocess.Popen(
            arguments,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=errors,
            env=command.visible_environment(),
            start_new_session=True,
        )
        finished = _watch(child, command.limits.seconds)
    if not finished:
        seconds = command.limits.seconds
        raise ProcessTimeoutError(where="command", seconds=seconds, stderr=stderr_note(log))
    if child.returncode != 0:
        ending = ending_of(child.returncode)
        raise ProcessCrashedError(where="command", ending=ending, stderr=stderr_note(log))


def _arguments(command: ProcessCommand, request: Path, outdir: Path) -> list[str]:
    limits = command.limits
    shim = [sys.executable, "-I", "-S", str(process_exec.__file__)]
    bounds = [str(limits.memory_bytes or 0), str(limits.file_bytes)]
    return [
        *shim,
        *bounds,
        str(command.program()),
        *command.arguments[1:],
        str(request),
        str(outdir),
    ]


@contextmanager
def _leaving_in_order() -> Iterator[None]:
    """Let a signal that would end this process raise SystemExit, so that the group is killed.

    Signals that the program handles itself are left to it. Only the main thread can take signals;
    a command line that works in other threads handles them.
    """
    main = threading.current_thread() is threading.main_thread()
    taken = [s for s in ENDING if main and signal.getsignal(s) is signal.SIG_DFL]

    def leave(number: int, frame: FrameType | None) -> None:
        sys.exit(128 + number)

    for number in taken:
        signal.signal(number, leave)
    try:
        yield
    finally:
        for number in taken:
            signal.signal(number, signal.SIG_DFL)


def _watch(child: subprocess.Popen[bytes], seconds: float) -> bool:
    """Wait without reaping, so that the group's number stays ours until the group is killed."""
    try:
        return _ended_within(child.pid, seconds)
    finally:
        _kill_group(child.pid)
        child.wait()


def _ended_within(pid: int, seconds: float) -> bool:
    deadline = time.monotonic() + seconds
    pause = 0.002
    while os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT | os.WNOHANG) is None:
        if time.monotonic() >= deadline:
            return False
        time.sleep(pause)
        pause = min(2 * pause, LONGEST_PAUSE)
    return True


def _kill_group(group: int) -> None:
    try:
        os.killpg(group, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        # No group any more, or only the zombie of its leader is left in it.
        return


def ending_of(returncode: int) -> str:
    """An exit status in words."""
    if returncode >= 0:
        return f"exit status {returncode}"
    try:
        return f"signal {signal.Signals(-returncode).name}"
    except ValueError:
        return f"signal {-returncode}"


def stderr_note(log: Path) -> str:
    """The last lines of the standard error, as the end of a message; empty when it said nothing."""
    with log.open("rb") as stream:
        return last_words(stream)


def last_words(stream: BinaryIO) -> str:
    """The same of an open file."""
    size = os.fstat(stream.fileno()).st_size
    stream.seek(max(0, size - TAIL_BYTES))
    lines = stream.read(TAIL_BYTES).decode("utf-8", "replace").rstrip().splitlines()
    if not lines:
        return "; it wrote nothing to standard error"
    return "; its last words:\n" + "\n".join(lines[-TAIL_LINES:]) + "\n"
