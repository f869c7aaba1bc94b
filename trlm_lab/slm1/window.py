"""A buffer with its name: range and zero checks, so that nothing overflows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trlm_lab.errors import Slm1RangeError, Slm1ReservedError

_SCAN = 1 << 20


@dataclass(frozen=True)
class Window:
    """The whole file as bytes, and the name under which errors speak of it."""

    view: memoryview
    where: str

    def at(self, offset: int) -> str:
        """The place of a byte, for errors."""
        return f"{self.where or 'buffer'}: byte {offset}"

    def check_range(self, field: str, place: int, start: int, length: int, low: int) -> None:
        """Refuse a range that begins before `low` or leaves the file. Raises Slm1RangeError."""
        end = start + length
        if start < low or end > len(self.view):
            raise Slm1RangeError(
                where=self.at(place),
                field=field,
                got=f"{start}..{end}",
                expected=f"{low}..{len(self.view)}",
            )

    def check_zero(self, field: str, start: int, end: int) -> None:
        """Refuse the first nonzero byte of a gap. Raises Slm1ReservedError."""
        for low in range(start, end, _SCAN):
            part = np.frombuffer(self.view[low : min(low + _SCAN, end)], np.uint8)
            if part.any():
                place = low + int(np.argmax(part != 0))
                raise Slm1ReservedError(
                    where=self.at(place), field=field, got=self.view[place], expected=0
                )
