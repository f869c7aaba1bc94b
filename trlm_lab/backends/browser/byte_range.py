"""The HTTP Range header (RFC 9110 section 14): one range of bytes, as the page's loader asks."""

from __future__ import annotations

import re
from dataclasses import dataclass

_SINGLE = re.compile(r"bytes=(\d{0,18})-(\d{0,18})\Z")


@dataclass(frozen=True)
class ByteRange:
    """Bytes `start` to `stop` (exclusive) of a representation of `size` bytes."""

    start: int
    stop: int
    size: int

    @property
    def content_range(self) -> str:
        """The value of Content-Range."""
        return f"bytes {self.start}-{self.stop - 1}/{self.size}"


def parse_range(header: str | None, size: int) -> ByteRange | None:
    """The range a header asks for; the whole representation where there is no usable header.

    A header of several ranges or another unit is ignored, as the RFC allows. None means that no
    byte satisfies the range (status 416).
    """
    match = _SINGLE.match(header.strip()) if header else None
    if match is None or match[0] == "bytes=-":
        return ByteRange(0, size, size)
    first, last = match[1], match[2]
    if not first:
        start, stop = max(0, size - int(last)), size
    else:
        start = int(first)
        stop = min(size, int(last) + 1) if last else size
        if last and int(last) < start:
            return ByteRange(0, size, size)
    return ByteRange(start, stop, size) if start < stop else None
