"""The standard streams of a command: those that the caller closed, and an output that is full."""

from __future__ import annotations

import errno
import os
import sys

from trlm_lab.errors import SystemRefusedError

STDOUT = "standard output"


def open_streams() -> None:
    """Give a closed standard input or error nothing behind it.

    Otherwise a file that is opened later gets the free number, and what a library prints.

    Raises:
        SystemRefusedError: standard output is closed, nobody would see the answer.
    """
    closed = [stream is None for stream in (sys.stdin, sys.stdout, sys.stderr)]
    for number, missing in enumerate(closed):
        if missing:
            _nothing_behind(number)
    if closed[0]:
        sys.stdin = os.fdopen(0, "r", closefd=False)
    if closed[2]:
        sys.stderr = os.fdopen(2, "w", closefd=False)
    if closed[1]:
        sys.stdout = os.fdopen(1, "w", closefd=False)
        raise SystemRefusedError(where=STDOUT, detail=os.strerror(errno.EBADF))


def refuse_output(error: OSError) -> int:
    """Say on standard error that the answer could not be written; the exit status."""
    refused = SystemRefusedError(where=STDOUT, detail=error.strerror or str(error))
    print(f"trlm: {refused}", file=sys.stderr)
    # What is left in the buffer would be tried again at the end, with a traceback.
    _nothing_behind(sys.stdout.fileno())
    return refused.exit_status


def _nothing_behind(number: int) -> None:
    nowhere = os.open(os.devnull, os.O_RDWR)
    if nowhere != number:
        os.dup2(nowhere, number)
        os.close(nowhere)
