"""A strict reader of the canonical encoding that names each broken rule and its byte.

The checks of one item stand in the order of docs/formats/golden.md, so that every reader gives
the same first code for the same bytes. Nothing of a declared size is allocated before the bytes
are known to be there.
"""

from __future__ import annotations

import math
import struct
from typing import Any, Final

from trlm_lab.errors import (
    GoldenDepthError,
    GoldenDuplicateKeyError,
    GoldenFloatError,
    GoldenIndefiniteError,
    GoldenIntegerError,
    GoldenKeyOrderError,
    GoldenKeyTypeError,
    GoldenNonFiniteError,
    GoldenReservedError,
    GoldenSizeError,
    GoldenTagError,
    GoldenTrailingError,
    GoldenTruncatedError,
    GoldenUtf8Error,
)
from trlm_lab.golden.limits import DEPTH, FILE_BYTES, ITEMS

_SIMPLE: Final = {20: False, 21: True, 22: None}
_FLOATS: Final = {25: ">e", 26: ">f", 27: ">d"}
_TEXT: Final = 3


def decode(data: bytes) -> Any:
    """The value of a whole file.

    Raises:
        GoldenError: the first broken rule; `where` is `byte N`, or `case.cbor` for its length.
    """
    if len(data) > FILE_BYTES:
        raise GoldenSizeError(where="case.cbor", limit=FILE_BYTES, unit="bytes")
    reader = _Reader(data)
    value = reader.item(0)
    if reader.at != len(data):
        raise GoldenTrailingError(where=f"byte {reader.at}", count=len(data) - reader.at)
    return value


class _Reader:
    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 0
        self.items = 0

    def item(self, depth: int) -> Any:
        """The next item; `depth` counts the maps and lists around it."""
        start = self.at
        where = f"byte {start}"
        if start >= len(self.data):
            raise GoldenTruncatedError(where=where)
        self.items += 1
        if self.items > ITEMS:
            raise GoldenSizeError(where=where, limit=ITEMS, unit="data items")
        head = self.data[start]
        major, info = head >> 5, head & 31
        self._check_head(head, where)
        self.at += 1
        if major == 7:
            return self._simple(info, where)
        argument = self._argument(info, where)
        if major == 0:
            return argument
        if major == 1:
            return -1 - argument
        if major in (2, _TEXT):
            return self._string(major, argument, where)
        return self._container(major, argument, depth + 1, where)

    def _check_head(self, head: int, where: str) -> None:
        major, info = head >> 5, head & 31
        if major == 6:
            raise GoldenTagError(where=where)
        if 28 <= info <= 30:
            raise GoldenReservedError(where=where, head=head)
        if info == 31:
            raise GoldenIndefiniteError(where=where)
        if major == 7 and info not in _SIMPLE and info not in _FLOATS:
            raise GoldenReservedError(where=where, head=head)

    def _take(self, count: int, where: str) -> bytes:
        if count > len(self.data) - self.at:
            raise GoldenTruncatedError(where=where)
        taken = self.data[self.at : self.at + count]
        self.at += count
        return taken

    def _argument(self, info: int, where: str) -> int:
        if info < 24:
            return info
        width = 1 << (info - 24)
        value = int.from_bytes(self._take(width, where), "big")
        least = 24 if width == 1 else 1 << (4 * width)
        if value < least:
            raise GoldenIntegerError(where=where, value=value)
        return value

    def _simple(self, info: int, where: str) -> Any:
        if info in _SIMPLE:
            return _SIMPLE[info]
        form = _FLOATS[info]
        raw = self._take(struct.calcsize(form), where)
        value: float = struct.unpack(form, raw)[0]
        if not math.isfinite(value):
            raise GoldenNonFiniteError(where=where)
        if info > 25 and _survives(value, _FLOATS[info - 1]):
            raise GoldenFloatError(where=where, value=value)
        return value

    def _string(self, major: int, length: int, where: str) -> bytes | str:
        raw = self._take(length, where)
        if major != _TEXT:
            return raw
        try:
            return raw.decode("utf-8")
        except UnicodeDecodeError as error:
            raise GoldenUtf8Error(where=where) from error

    def _container(self, major: int, count: int, depth: int, where: str) -> Any:
        if depth > DEPTH:
            raise GoldenDepthError(where=where, limit=DEPTH)
        if count * (major - 3) > len(self.data) - self.at:
            raise GoldenTruncatedError(where=where)
        if major == 4:
            return [self.item(depth) for _ in range(count)]
        found: dict[str, Any] = {}
        previous = None
        for _ in range(count):
            previous = self._key(previous, depth)
            found[previous] = self.item(depth)
        return found

    def _key(self, previous: str | None, depth: int) -> str:
        where = f"byte {self.at}"
        if self.at < len(self.data) and self.data[self.at] >> 5 != _TEXT:
            raise GoldenKeyTypeError(where=where)
        key: str = self.item(depth)
        if previous is not None and key == previous:
            raise GoldenDuplicateKeyError(where=where, key=key)
        if previous is not None and _rank(key) < _rank(previous):
            raise GoldenKeyOrderError(where=where, key=key)
        return key


def _survives(value: float, form: str) -> bool:
    """Whether a finite float keeps its value in a narrower form; the sign of zero counts."""
    try:
        narrow: float = struct.unpack(form, struct.pack(form, value))[0]
    except OverflowError:
        return False
    return narrow == value


def _rank(key: str) -> tuple[int, bytes]:
    """Bytewise order of the encodings: the length stands in front of the bytes."""
    raw = key.encode()
    return len(raw), raw
