"""One section under a reader: numbers out of it, and refusals with the offset in the block."""

from __future__ import annotations

from typing import NoReturn

import numpy as np

from trlm_lab.errors import Tok2Error
from trlm_lab.text.tok2.hashing import Numbers


class Section:
    """The bytes of a section, where it begins in the block, and the error of its rules."""

    def __init__(self, view: memoryview, offset: int, error: type[Tok2Error]) -> None:
        self.view, self.offset, self.error = view, offset, error

    def __len__(self) -> int:
        return len(self.view)

    def fail(self, at: int, field: str, got: object, expected: object) -> NoReturn:
        """Refuse what stands at a byte of the section."""
        where = f"byte {self.offset + at}"
        raise self.error(where=where, field=field, got=got, expected=expected)

    def need(self, length: int, at: int, field: str) -> None:
        """Refuse a section that is not as long as its counts say."""
        if len(self.view) < length:
            self.fail(at, field, f"for {length} bytes", f"at most {len(self.view)}")

    def exactly(self, length: int, at: int, field: str) -> None:
        """Refuse a section that has another length."""
        if len(self.view) != length:
            self.fail(at, field, f"for {length} bytes", len(self.view))

    def u32(self, at: int) -> int:
        """One number, which is known to be there."""
        return int.from_bytes(self.view[at : at + 4], "little")

    def numbers(self, at: int, count: int) -> Numbers:
        """Some numbers, which are known to be there, shape (count,)."""
        return np.frombuffer(self.view, "<u4", count, at) if count else np.zeros(0, np.uint32)

    def zeros(self, at: int, length: int, field: str = "a reserved field") -> None:
        """Refuse reserved bytes that are not zero."""
        for index in range(at, at + length):
            if self.view[index]:
                self.fail(index, field, self.view[index], 0)

    def ascending(self, at: int, values: Numbers, field: str) -> None:
        """Refuse numbers that go down; `at` is where the first one stands."""
        down = np.flatnonzero(values[1:] < values[:-1])
        if len(down):
            index = int(down[0]) + 1
            self.fail(at + 4 * index, field, int(values[index]), f"{values[index - 1]} or more")
