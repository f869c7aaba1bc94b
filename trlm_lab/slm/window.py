"""A buffer with its name: range checks in plain integers, so that nothing overflows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trlm_lab.errors import SlmRangeError, SlmReservedError

U64_MAX = 2**64 - 1
_SCAN = 1 << 20


@dataclass(frozen=True)
class Window:
    """The whole file as bytes, and the name under which errors speak of it."""

    view: memoryview
    where: str

    def at(self, offset: int) -> str:
        """The place of a byte, for errors."""
        return f"{self.where or 'buffer'}: byte {offset}"

    def check_range(
        self, field: str, field_offset: int, start: int, length: int, bounds: tuple[int, int]
    ) -> None:
        """Refuse a range that overflows 64 bits or leaves `bounds`. Raises SlmRangeError."""
        end = start + length
        if length < 0 or end > U64_MAX or start < bounds[0] or end > bounds[1]:
            raise SlmRangeError(
                where=self.at(field_offset),
                field=field,
                got=f"{start}..{end}",
                expected=f"{bounds[0]}..{bounds[1]}",
            )

    def check_zero(self, field: str, start: int, end: int) -> None:
        """Refuse the first nonzero byte in a gap. Raises SlmReservedError."""
        for low in range(start, end, _SCAN):
            part = np.frombuffer(self.view[low : min(low + _SCAN, end)], dtype=np.uint8)
            if part.any():
                place = low + int(np.argmax(part != 0))
                raise SlmReservedError(
                    where=self.at(place), field=field, got=self.view[place], expected=0
                )
