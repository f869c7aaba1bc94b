"""A peer in a process of its own that answers calls: whatever it does, the caller goes on.

The process ends when its input ends, so that it never outlives the one who started it.
"""

from __future__ import annotations

import os
import select
import subprocess
import tempfile
import threading
import time
import weakref
from collections.abc import Sequence
from pathlib import Path
from typing import IO, BinaryIO

from trlm_lab.backends.process_launch import ending_of, last_words
from trlm_lab.errors import InfrastructureError, PeerEndedError, PeerSilentError

#: One read or write of a pipe.
_CHUNK = 1 << 16
#: How long a process that has closed its pipes may take to end.
LAST_SECONDS = 5.0


class PeerPipe:
    """A running process with its standard input and output; calls come one after the other."""

    def __init__(
        self,
        command: Sequence[str],
        environment: dict[str, str],
        *,
        peer: str,
        where: str,
        seconds: float,
    ) -> None:
        """Args:
        command: the program, with its arguments.
        environment: all the variables that it sees.
        peer: its name, and `where`: the file it works on, for messages.
        seconds: the longest wait for one answer.
        """
        self._peer, self._where, self._seconds = peer, where, seconds
        self._lock = threading.Lock()
        self._failure: InfrastructureError | None = None
        self._errors = os.fdopen(_nameless_file(), "w+b")
        self._child = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            env=environment,
            bufsize=0,
            start_new_session=True,
        )
        self._input, self._output = _number(self._child.stdin), _number(self._child.stdout)
        os.set_blocking(self._input, False)
        os.set_blocking(self._output, False)
        self.close = weakref.finalize(self, _end, self._child, self._errors)

    @property
    def pid(self) -> int:
        """The process."""
        return self._child.pid

    def call(self, data: bytes, head: int, length_at: slice) -> bytes:
        """Write a call and read its answer: `head` bytes, which hold the length of the rest.

        Raises:
            PeerEndedError: the process ended instead, now or in an earlier call.
            PeerSilentError: it did not answer in time, and was ended.
        """
        with self._lock:
            if self._failure is not None:
                raise self._failure
            try:
                return self._exchange(data, head, length_at)
            except InfrastructureError as error:
                self._failure = error
                self.close()
                raise
            except BaseException:
                # What is left of the answer would be taken for the next one.
                self._failure = self._ended("a call that was interrupted")
                self.close()
                raise

    def _exchange(self, data: bytes, head: int, length_at: slice) -> bytes:
        deadline = time.monotonic() + self._seconds
        self._write(data, deadline)
        answer = bytearray()
        self._read(answer, head, deadline)
        self._read(answer, head + int.from_bytes(answer[length_at], "little"), deadline)
        return bytes(answer)

    def _write(self, data: bytes, deadline: float) -> None:
        rest = memoryview(data)
        while rest:
            try:
                rest = rest[os.write(self._input, rest[:_CHUNK]) :]
            except BlockingIOError:
                self._wait(self._input, select.POLLOUT, deadline)
            except BrokenPipeError as error:
                raise self._ended() from error

    def _read(self, out: bytearray, count: int, deadline: float) -> None:
        """Until there are at least so many bytes of the answer; none come behind it."""
        while len(out) < count:
            self._wait(self._output, select.POLLIN, deadline)
            part = os.read(self._output, _CHUNK)
            if not part:
                raise self._ended()
            out += part

    def _wait(self, pipe: int, event: int, deadline: float) -> None:
        poll = select.poll()
        poll.register(pipe, event)
        left = deadline - time.monotonic()
        if left <= 0 or not poll.poll(1000 * left):
            raise PeerSilentError(where=self._where, peer=self._peer, seconds=self._seconds)

    def _ended(self, how: str = "") -> PeerEndedError:
        """The error of a process that is gone, or is on its way: its pipes are closed."""
        how = how or ending_of(_status(self._child))
        stderr = last_words(self._errors)
        return PeerEndedError(where=self._where, peer=self._peer, ending=how, stderr=stderr)


def _nameless_file() -> int:
    number, name = tempfile.mkstemp(prefix="trlm-")
    Path(name).unlink()
    return number


def _number(stream: IO[bytes] | None) -> int:
    return -1 if stream is None else stream.fileno()


def _status(child: subprocess.Popen[bytes]) -> int:
    """The exit status of a process that has closed its pipes."""
    try:
        return child.wait(timeout=LAST_SECONDS)
    except subprocess.TimeoutExpired:
        child.kill()
        return child.wait()


def _end(child: subprocess.Popen[bytes], errors: BinaryIO) -> None:
    child.kill()
    child.wait()
    for stream in (child.stdin, child.stdout, errors):
        if stream is not None:
            stream.close()
