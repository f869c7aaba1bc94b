"""A strict reader of deterministic CBOR (RFC 8949 section 4.2.1), independent of any library.

Refused: indefinite lengths, non-shortest integers, lengths and floats, tags, undefined and other
simple values, keys that are no texts, out of order or repeated, NaN, infinities, trailing bytes.
"""

from __future__ import annotations

import math
import struct
from typing import Any, NoReturn

from trlm_lab.errors import InspectCborError

MAX_DEPTH = 64
_FLOATS = {25: ("<e", 2), 26: ("<f", 4), 27: ("<d", 8)}


def read_cbor(data: bytes) -> Any:
    """The value that the bytes encode. Raises InspectCborError with the byte offset."""
    reader = _Reader(data)
    value = reader.item(0)
    if reader.at != len(data):
        reader.refuse(f"{len(data) - reader.at} bytes follow the value")
    return value


class _Reader:
    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    def refuse(self, detail: str) -> NoReturn:
        raise InspectCborError(where=f"byte {self.at}", detail=detail)

    def take(self, count: int) -> bytes:
        part = self.data[self.at : self.at + count]
        if len(part) < count:
            self.refuse(f"{count} bytes are announced, {len(part)} are left")
        self.at += count
        return part

    def argument(self, info: int) -> int:
        """The integer of an initial byte, in its shortest form."""
        if info < 24:
            return info
        if info > 27:
            self.refuse(f"additional information {info}: indefinite or reserved")
        width = 1 << (info - 24)
        value = int.from_bytes(self.take(width), "big")
        least = 24 if width == 1 else 1 << (4 * width)
        if value < least:
            self.refuse(f"{value} is written in {width} bytes, shorter is possible")
        return value

    def item(self, depth: int) -> Any:
        if depth > MAX_DEPTH:
            self.refuse(f"nesting deeper than {MAX_DEPTH}")
        initial = self.take(1)[0]
        major, info = initial >> 5, initial & 31
        if major == 7:
            return self.simple(info)
        if major == 6:
            self.refuse("a tag")
        count = self.argument(info)
        if major < 2:
            return count if major == 0 else -1 - count
        if major == 2:
            return self.take(count)
        if major == 3:
            return self.text(count)
        if major == 4:
            return [self.item(depth + 1) for _ in range(self.announced(count))]
        return self.map(self.announced(count), depth)

    def announced(self, count: int) -> int:
        """A number of items; each takes a byte at least, so a hostile count is seen at once."""
        if count > len(self.data) - self.at:
            self.refuse(f"{count} items are announced, {len(self.data) - self.at} bytes are left")
        return count

    def text(self, count: int) -> str:
        raw = self.take(count)
        try:
            return raw.decode()
        except UnicodeDecodeError as error:
            raise InspectCborError(
                where=f"byte {self.at - count + error.start}", detail="ill-formed UTF-8"
            ) from error

    def map(self, count: int, depth: int) -> dict[str, Any]:
        row: dict[str, Any] = {}
        before = b""
        for _ in range(count):
            start = self.at
            key = self.item(depth + 1)
            encoded = self.data[start : self.at]
            if not isinstance(key, str):
                self.refuse("a map key is no text")
            if encoded <= before:
                self.refuse(f"the key {key!r} is repeated or out of order")
            before = encoded
            row[key] = self.item(depth + 1)
        return row

    def simple(self, info: int) -> Any:
        if info in (20, 21, 22):
            return {20: False, 21: True, 22: None}[info]
        if info not in _FLOATS:
            self.refuse(f"simple value {info}")
        code, width = _FLOATS[info]
        (value,) = struct.unpack(code, self.take(width)[::-1])
        if not math.isfinite(value):
            self.refuse(f"the float {value}")
        shorter = {4: "<e", 8: "<f"}.get(width)
        if shorter and _fits(value, shorter):
            self.refuse(f"the float {value} is written in {width} bytes, shorter is possible")
        return value


def _fits(value: float, code: str) -> bool:
    try:
        (narrow,) = struct.unpack(code, struct.pack(code, value))
    except OverflowError:
        return False
    return bool(narrow == value)
