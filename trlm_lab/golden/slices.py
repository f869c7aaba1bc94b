"""The text that says which part of an array a blob holds: `4:8,0:64 of 12x576`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

_FORM = re.compile(
    r"(\d{1,10}:\d{1,10}(?:,\d{1,10}:\d{1,10}){0,7}) of (\d{1,10}(?:x\d{1,10}){0,7})\Z"
)


@dataclass(frozen=True)
class Slice:
    """Half-open ranges of each axis of an array of the shape `whole`."""

    ranges: tuple[tuple[int, int], ...]
    whole: tuple[int, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the part."""
        return tuple(stop - start for start, stop in self.ranges)

    @property
    def starts(self) -> tuple[int, ...]:
        """First index of each axis."""
        return tuple(start for start, _ in self.ranges)

    def cut(self, values: NDArray[Any]) -> NDArray[Any]:
        """The part of an array of the shape `whole`."""
        return values[tuple(slice(start, stop) for start, stop in self.ranges)]

    def __str__(self) -> str:
        ranges = ",".join(f"{start}:{stop}" for start, stop in self.ranges)
        return f"{ranges} of {'x'.join(map(str, self.whole))}"


def parse_slice(text: str) -> Slice | None:
    """The slice of a text in this form, or None for any other text."""
    match = _FORM.match(text)
    if match is None or not text.isascii():
        return None
    pairs = [pair.split(":") for pair in match[1].split(",")]
    ranges = tuple((int(start), int(stop)) for start, stop in pairs)
    whole = tuple(int(size) for size in match[2].split("x"))
    if len(ranges) != len(whole):
        return None
    fits = all(start <= stop <= size for (start, stop), size in zip(ranges, whole, strict=True))
    return Slice(ranges, whole) if fits else None
