"""Declared heads and query rows that stand for a whole square of attention in long cases."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trlm_lab.errors import UsageError

#: Checkpoints of shape H T T.
SQUARES = ("attn_scores", "attn_masked", "attn_probs")
#: A case of more tokens keeps picked squares only, unless all are asked for.
WHOLE_UP_TO = 512
HEADS, ROWS = 2, 64


@dataclass(frozen=True)
class Pick:
    """Heads and query rows by number, ascending."""

    heads: tuple[int, ...]
    rows: tuple[int, ...]

    def __post_init__(self) -> None:
        for what, numbers in (("heads", self.heads), ("query rows", self.rows)):
            whole = all(type(n) is int and n >= 0 for n in numbers)
            if not numbers or not whole or list(numbers) != sorted(set(numbers)):
                detail = f"{what} {list(numbers)} are no ascending numbers from 0"
                raise UsageError(where="picked squares", detail=detail)

    @classmethod
    def default(cls, heads: int, tokens: int) -> Pick:
        """Two heads and 64 query rows, spread evenly from the first to the last."""
        return cls(_spread(heads, HEADS), _spread(tokens, ROWS))

    @classmethod
    def from_map(cls, row: dict[str, Any]) -> Pick:
        """Inverse of `to_map`. Raises KeyError, TypeError, UsageError."""
        return cls(tuple(row["heads"]), tuple(row["rows"]))

    def to_map(self) -> dict[str, Any]:
        """As it stands in the metadata."""
        return {"heads": list(self.heads), "rows": list(self.rows)}

    def fits(self, shape: tuple[int, ...]) -> bool:
        """Whether an array of this shape has all the heads and rows."""
        return len(shape) == 3 and self.heads[-1] < shape[0] and self.rows[-1] < shape[1]

    def require_in(self, shape: tuple[int, ...], where: str) -> None:
        """Raise UsageError where a square of this shape lacks a head or row."""
        if not self.fits(shape):
            heads, tokens = shape[:2]
            detail = f"head {self.heads[-1]} or row {self.rows[-1]} of {heads} and {tokens}"
            raise UsageError(where=where, detail=detail)

    def of(self, square: NDArray[Any]) -> NDArray[Any]:
        """The picked entries of a square (H, T, S): (heads, rows, S), owned."""
        return np.ascontiguousarray(square[np.ix_(self.heads, self.rows)])


def _spread(size: int, count: int) -> tuple[int, ...]:
    if size <= count:
        return tuple(range(size))
    return tuple(_evenly(size, count))


def _evenly(size: int, count: int) -> Iterable[int]:
    return (i * (size - 1) // (count - 1) for i in range(count))
