"""The HTTP Range header (RFC 9110 section 14): one range of bytes, as the page's loader asks."""

from __future__ import annotations

import re
from dataclasses import dataclass

_SINGLE = re.compile(r"bytes=(\d{0,18})-(\d{0,18})\Z", re.ASCII)


@dataclass(frozen=True)
class ByteRange:
    """Bytes `start` to `stop` (exclusive) of `size`; `partial` where a range was asked for."""

    start: int
    stop: int
    size: int
    partial: bool

    @property
    def content_range(self) -> str:
        """The value of Content-Range."""
        return f"bytes {self.start}-{self.stop - 1}/{self.size}"


def parse_range(header: str | None, size: int) -> ByteRange | None:
    """The range that a header asks for, or None where no byte satisfies it (status 416).

    Without a header the whole is meant; a malformed header, another unit or several ranges are
    ignored, as the RFC allows.
    """
    whole = ByteRange(0, size, size, partial=False)
    match = _SINGLE.match(header.strip()) if header else None
    if match is None or match[0] == "bytes=-":
        return whole
    first, last = match[1], match[2]
    if first and last and int(last) < int(first):
        return whole
    start = int(first) if first else max(0, size - int(last))
    stop = min(size, int(last) + 1) if first and last else size
    return ByteRange(start, stop, size, partial=True) if start < stop else None
