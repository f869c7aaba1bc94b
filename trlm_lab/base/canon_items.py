"""How many values an encoding holds, told by its heads before anything is built of them.

An empty list is one byte and takes sixty in memory: whoever reads what a stranger wrote bounds the
values first. The heads are all that is looked at; whether they are sound, decoding says.
"""

from __future__ import annotations

from trlm_lab.errors import NotCanonicalError


def require_items(data: bytes, most: int, *, where: str) -> None:
    """Refuse an encoding of more values than `most`. Raises NotCanonicalError."""
    at, count = 0, 0
    while at < len(data):
        count += 1
        if count > most:
            raise NotCanonicalError(where=where, detail=f"more than {most} values")
        major, info = data[at] >> 5, data[at] & 31
        at += 1
        argument = info
        if 24 <= info < 28:
            width = 1 << (info - 24)
            argument = int.from_bytes(data[at : at + width], "big")
            at += width
        if major in (2, 3):
            # Bytes and texts stand behind their head; every other value has heads of its own.
            at += argument
