"""What stands where a file is to be written, looked at before any work is done for it."""

from __future__ import annotations

import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from trlm_lab.base.plain_file import kind_of
from trlm_lab.errors import OutputIsInputError, OutputNotPlainError


def require_output(out: Path, *inputs: Path) -> None:
    """`out` is a new name, or that of a plain file that is none of the inputs, links followed.

    A rename puts a file in the place of a device as well, and `/dev/null` is one.

    Raises:
        OutputNotPlainError: a directory, pipe, socket or device.
        OutputIsInputError: an input, perhaps by another of its names.
        OSError: it may not be looked at.
    """
    try:
        status = out.stat()
    except FileNotFoundError:
        return
    if not stat.S_ISREG(status.st_mode):
        raise OutputNotPlainError(where=str(out), kind=kind_of(status))
    if any(one.exists() and out.samefile(one) for one in inputs):
        raise OutputIsInputError(where=str(out))


@contextmanager
def written_below(place: Path) -> Iterator[None]:
    """Name `place` in what the system refuses without a name: a disk is full while bytes go out."""
    try:
        yield
    except OSError as error:
        if error.filename is None:
            error.filename = str(place)
        raise
