"""Lines of a stream that nobody knows: a long one is passed over and does not end the others."""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO

from trlm_lab.text.utf8 import BOUNDS

#: The longest text of one call, each of its bytes as an escape of JSON (`\\u0000`), and a frame.
MAX_LINE_BYTES = 6 * BOUNDS.bytes + 4096
#: What is read of a line that is passed over at a time.
_CHUNK = 1 << 20


def bounded_lines(stream: BinaryIO, limit: int = MAX_LINE_BYTES) -> Iterator[bytes | None]:
    """Each line with its end; None for one that has more bytes than the limit."""
    while line := stream.readline(limit + 1):
        if len(line) <= limit:
            yield line
            continue
        yield None
        while not line.endswith(b"\n") and (line := stream.readline(_CHUNK)):
            pass
