"""A request to stop becomes an exception, so that every `finally` runs and nothing stays behind."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType

#: Asked to end, terminal gone. An interruption from the keyboard is Python's own exception.
STOPPING = ("SIGTERM", "SIGHUP", "SIGINT")


class Stopped(BaseException):
    """A signal asked this process to end; the exit status is 128 plus its number."""

    def __init__(self, number: int) -> None:
        self.status = 128 + number
        self.name = signal.Signals(number).name
        super().__init__(self.name)


@contextmanager
def stoppable() -> Iterator[None]:
    """Turn the first stop signal into an exception here; a second one ends the process at once.

    Children that lead a session of their own (a runtime on trial, a notebook kernel) get no signal
    from the terminal. They are killed at once, so that no thread waits for them.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    numbers = [getattr(signal, name) for name in STOPPING if hasattr(signal, name)]
    before = {number: signal.getsignal(number) for number in numbers}
    # What the parent had ignored (nohup) stays ignored.
    ours = [number for number in numbers if before[number] is not signal.SIG_IGN]

    def stop(number: int, frame: FrameType | None) -> None:
        for each in ours:
            signal.signal(each, signal.SIG_DFL)
        kill_detached_children()
        raise KeyboardInterrupt if number == signal.SIGINT else Stopped(number)

    for number in ours:
        signal.signal(number, stop)
    try:
        yield
    finally:
        for number in ours:
            signal.signal(number, before[number])


def kill_detached_children() -> None:
    """Kill the process groups of direct children that lead a session of their own."""
    import psutil

    for child in psutil.Process().children():
        with suppress(OSError, psutil.Error):
            if os.getsid(child.pid) == child.pid:
                os.killpg(child.pid, signal.SIGKILL)
