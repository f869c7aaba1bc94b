"""Reading forward through a GGUF file: every length is checked against the bytes that are left."""

from __future__ import annotations

import mmap
import struct
from typing import Any

import numpy as np

from trlm_lab.errors import GgufError

MAX_ENTRIES = 1 << 20
#: Of the whole file: its keys, tensors and array elements; and the bytes of its texts. Parsed, a
#: number takes nine times its bytes in the file. A vocabulary of 256,000 has a quarter of either.
MAX_ALL_ENTRIES = 4 << 20
MAX_TEXT_BYTES = 128 << 20

_NUMPY = {"B": "u1", "b": "i1", "H": "u2", "h": "i2", "I": "u4", "i": "i4", "f": "f4", "?": "u1",
          "Q": "u8", "q": "i8", "d": "f8"}  # fmt: skip


class Cursor:
    """Reads forward through the bytes and refuses to pass their end."""

    def __init__(self, data: mmap.mmap, where: str) -> None:
        self.data, self.where, self.at = data, where, 0
        self.entries = self.text_bytes = 0

    def fail(self, detail: str) -> GgufError:
        """The refusal of what stands at this byte."""
        return GgufError(where=f"{self.where}, byte {self.at}", detail=detail)

    @property
    def left(self) -> int:
        """Bytes that have not been read."""
        return len(self.data) - self.at

    def take(self, size: int) -> bytes:
        """The next bytes."""
        if size > self.left:
            raise self.fail(f"{size} bytes are wanted, {self.left} are left")
        chunk = self.data[self.at : self.at + size]
        self.at += size
        return chunk

    def number(self, code: str) -> Any:
        """The next number, by its `struct` code."""
        return struct.unpack("<" + code, self.take(struct.calcsize("<" + code)))[0]

    def count(self, what: str, least: int) -> int:
        """A number of entries of `least` bytes each, which must have room in the file."""
        value: int = self.number("Q")
        if value > MAX_ENTRIES:
            raise self.fail(f"{value} {what}, at most {MAX_ENTRIES} are read")
        if value * least > self.left:
            raise self.fail(f"{value} {what} need {value * least} bytes, {self.left} are left")
        self.entries += value
        if self.entries > MAX_ALL_ENTRIES:
            raise self.fail(f"more than {MAX_ALL_ENTRIES} keys, tensors and elements in all")
        return value

    def text(self) -> str:
        """The next text: its length in 8 bytes, then UTF-8."""
        size = self.number("Q")
        if size <= self.left and self.text_bytes + size > MAX_TEXT_BYTES:
            raise self.fail(f"the texts are longer than {MAX_TEXT_BYTES} bytes in all")
        self.text_bytes += size
        raw = self.take(size)
        try:
            return raw.decode("utf-8")
        except UnicodeDecodeError as error:
            raise self.fail(f"a text is no UTF-8: {error.reason}") from error

    def name(self, what: str, most: int) -> str:
        """A text that names something: neither empty nor longer than the format allows."""
        name = self.text()
        size = len(name.encode())
        if not 0 < size <= most:
            raise self.fail(f"a {what} of {size} bytes, 1 to {most} are allowed")
        return name

    def scalars(self, name: str, code: str, count: int) -> list[Any]:
        """Numbers of one type, every one of which the type really has."""
        width = struct.calcsize("<" + code)
        raw = np.frombuffer(self.take(count * width), f"<{_NUMPY[code]}")
        bad = raw > 1 if name == "bool" else ~np.isfinite(raw) if code in "fd" else None
        if bad is not None and bad.any():
            at = int(np.argmax(bad))
            self.at -= (count - at) * width
            raise self.fail(f"a {name} holds {raw[at]}")
        values: list[Any] = raw.astype(bool).tolist() if name == "bool" else raw.tolist()
        return values
