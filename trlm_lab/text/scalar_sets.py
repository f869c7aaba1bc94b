"""Sets of Unicode scalars as sorted ranges, with what regular expressions do to them."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

LAST = 0x10FFFF
Range = tuple[int, int]


@dataclass(frozen=True)
class ScalarSet:
    """Disjoint ascending ranges, both ends included."""

    ranges: tuple[Range, ...]

    @classmethod
    def of(cls, ranges: Iterable[Range]) -> ScalarSet:
        """Any ranges, merged."""
        merged: list[Range] = []
        for low, high in sorted(ranges):
            if merged and low <= merged[-1][1] + 1:
                merged[-1] = (merged[-1][0], max(high, merged[-1][1]))
            else:
                merged.append((low, high))
        return cls(tuple(merged))

    @classmethod
    def chars(cls, text: str) -> ScalarSet:
        """The scalars of a text."""
        return cls.of((ord(c), ord(c)) for c in text)

    def __or__(self, other: ScalarSet) -> ScalarSet:
        return ScalarSet.of(self.ranges + other.ranges)

    def __and__(self, other: ScalarSet) -> ScalarSet:
        return (self.inverse() | other.inverse()).inverse()

    def inverse(self) -> ScalarSet:
        """Everything else."""
        out, at = [], 0
        for low, high in self.ranges:
            if low > at:
                out.append((at, low - 1))
            at = high + 1
        if at <= LAST:
            out.append((at, LAST))
        return ScalarSet(tuple(out))

    def __contains__(self, char: str) -> bool:
        code = ord(char)
        at = bisect_right(self.ranges, (code, LAST)) - 1
        return at >= 0 and self.ranges[at][0] <= code <= self.ranges[at][1]

    @cached_property
    def members(self) -> frozenset[str]:
        """Its scalars one by one, for small sets that are asked for often."""
        return frozenset(chr(c) for low, high in self.ranges for c in range(low, high + 1))

    def in_brackets(self) -> str:
        """The inside of a character class of Python's `re`."""
        return "".join(
            _escape(low) if low == high else f"{_escape(low)}-{_escape(high)}"
            for low, high in self.ranges
        )

    def expression(self) -> str:
        """An expression of `re` that matches one scalar of the set."""
        if not self.ranges:
            return "(?!)"
        return f"[{self.in_brackets()}]"


def _escape(code: int) -> str:
    return f"\\x{code:02x}" if code < 0x100 else f"\\U{code:08x}"
