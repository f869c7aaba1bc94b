"""Reading forward through a GGUF file: every length is checked against the bytes that are left."""

from __future__ import annotations

import mmap
import struct
from typing import Any

import numpy as np

from trlm_lab.errors import GgufError

#: Array elements of the whole file, and the bytes of its texts. The largest tokenizer, Gemma 4's,
#: has 1,301,338 elements (262,144 tokens, their scores and types, and 514,906 merges); a short text
#: takes sixty bytes when parsed, and a long one four times its bytes.
MAX_ELEMENTS = 3 << 19
MAX_TEXT_BYTES = 10 << 20
_LENGTH = struct.Struct("<Q")

_NUMPY = {"B": "u1", "b": "i1", "H": "u2", "h": "i2", "I": "u4", "i": "i4", "f": "f4", "?": "u1",
          "Q": "u8", "q": "i8", "d": "f8"}  # fmt: skip


class Cursor:
    """Reads forward through the bytes and refuses to pass their end."""

    def __init__(self, data: mmap.mmap, where: str) -> None:
        self.data, self.where, self.at = data, where, 0
        self.elements = self.text_bytes = 0

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

    def count(self, what: str, least: int, most: int) -> int:
        """A number of entries of `least` bytes each, which must have room in the file."""
        value: int = self.number("Q")
        if value > most:
            raise self.fail(f"{value} {what}, at most {most} are read")
        if value * least > self.left:
            raise self.fail(f"{value} {what} need {value * least} bytes, {self.left} are left")
        return value

    def element_count(self, least: int) -> int:
        """The length of an array; all arrays together have a limit too."""
        value = self.count("array elements", least, MAX_ELEMENTS)
        self.elements += value
        if self.elements > MAX_ELEMENTS:
            raise self.fail(f"more than {MAX_ELEMENTS} array elements in all")
        return value

    def text(self) -> str:
        """The next text: its length in 8 bytes, then UTF-8."""
        return self.texts(1)[0]

    def texts(self, count: int) -> list[str]:
        """Texts that follow one another."""
        data, size, length_at, found = self.data, len(self.data), _LENGTH.unpack_from, []
        at, most = self.at, MAX_TEXT_BYTES - self.text_bytes
        try:
            for _ in range(count):
                (length,) = length_at(data, at)
                self.at = at = at + 8
                end, most = at + length, most - length
                if end > size or most < 0:
                    raise self._too_long(length)
                found.append(str(data[at:end], "utf-8"))
                at = end
        except struct.error:
            self.at = at
            raise self.fail(f"8 bytes are wanted, {self.left} are left") from None
        except UnicodeDecodeError as error:
            raise self.fail(f"a text is no UTF-8: {error.reason}") from error
        self.at, self.text_bytes = at, MAX_TEXT_BYTES - most
        return found

    def _too_long(self, length: int) -> GgufError:
        if length > self.left:
            return self.fail(f"{length} bytes are wanted, {self.left} are left")
        return self.fail(f"the texts are longer than {MAX_TEXT_BYTES} bytes in all")

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
