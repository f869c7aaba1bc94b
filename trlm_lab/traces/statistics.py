"""Thirteen figures that stand for a whole array, in float64, with sums in a declared order.

Every figure but the first three is of the finite entries, in flat C order. The order of the three
sums: entry i belongs to lane i mod 1024; each lane adds its entries in ascending order from +0.0,
then the lanes are added in ascending order. Entries are widened to float64 first, in which their
squares are exact. `std` is that of the whole population,
sqrt(max(0, sum_squares / n - mean * mean)); it loses digits where |mean| is far above it.
"""

from __future__ import annotations

import math
import threading
from typing import Any

import numpy as np
from numpy.typing import NDArray

Block = NDArray[np.float32]

#: Names of the figures, in the order in which they are stored.
FIGURES: tuple[str, ...] = (
    "count", "nonfinite", "zeros", "min", "max", "argmin", "argmax", "absmax",
    "sum", "sum_squares", "sum_abs", "mean", "std",
)  # fmt: skip
LANES = 1024
#: Rows of lanes taken at a time: as many as stay in a core's cache.
_ROWS = 96


class _Scratch(threading.local):
    """Memory that a thread uses again: to fetch it anew costs as much as a small array."""

    wide: NDArray[np.float64] | None = None


_SCRATCH = _Scratch()


def _wide_rows() -> NDArray[np.float64]:
    if _SCRATCH.wide is None:
        _SCRATCH.wide = np.empty((_ROWS + 1, LANES))
    return _SCRATCH.wide


class _Figures:
    """The figures of the entries added so far; the lanes of the three sums among them."""

    def __init__(self) -> None:
        self.taken = self.nonfinite = self.zeros = 0
        self.low, self.high = math.inf, -math.inf
        self.argmin = self.argmax = -1
        self._lanes = np.zeros((3, LANES))
        self._wide = _wide_rows()

    def add(self, block: Block) -> None:
        """Take the next entries: whole rows of lanes, except at the end."""
        self.zeros += int(np.count_nonzero(block == 0))
        low, high = int(block.argmin()), int(block.argmax())
        if math.isfinite(block[low]) and math.isfinite(block[high]):
            self._note(block, low, block, high)
        else:
            block = self._without_nonfinite(block)
        self._add_to_lanes(block)
        self.taken += block.size

    def _without_nonfinite(self, block: Block) -> Block:
        """Count what is not finite, and put zeros in its place, which change no sum."""
        finite = np.isfinite(block)
        self.nonfinite += block.size - int(np.count_nonzero(finite))
        below, above = np.where(finite, block, np.inf), np.where(finite, block, -np.inf)
        self._note(below, int(below.argmin()), above, int(above.argmax()))
        return np.where(finite, block, np.float32(0))

    def _note(self, below: Block, low: int, above: Block, high: int) -> None:
        if below[low] < self.low:
            self.low, self.argmin = float(below[low]), self.taken + low
        if above[high] > self.high:
            self.high, self.argmax = float(above[high]), self.taken + high

    def _add_to_lanes(self, block: Block) -> None:
        rows = -(-block.size // LANES)
        wide = self._wide[1 : rows + 1]
        if block.size == wide.size:
            wide[...] = block.reshape(rows, LANES)
        else:
            wide[...] = 0
            wide.reshape(-1)[: block.size] = block
        self._add_wide(0, rows)
        np.abs(wide, out=wide)
        self._add_wide(1, rows)
        np.multiply(wide, wide, out=wide)
        self._add_wide(2, rows)

    def _add_wide(self, which: int, rows: int) -> None:
        """A sum over the rows runs from the first row on, which is what was added before."""
        self._wide[0] = self._lanes[which]
        np.add.reduce(self._wide[: rows + 1], axis=0, out=self._lanes[which])

    def row(self) -> list[float]:
        """The figures in their order."""
        # Accumulating adds one lane after the other; a sum over an axis would not promise that.
        total, absolute, squares = np.add.accumulate(self._lanes, axis=1)[:, -1].tolist()
        finite = self.taken - self.nonfinite
        low, high = (self.low, self.high) if finite else (math.nan, math.nan)
        mean = total / finite if finite else math.nan
        spread = math.sqrt(max(0.0, squares / finite - mean * mean)) if finite else math.nan
        extremes = [low, high, self.argmin, self.argmax, max(abs(low), abs(high))]
        counts = [self.taken, self.nonfinite, self.zeros]
        return [*counts, *extremes, total, squares, absolute, mean, spread]


def statistics_of(values: NDArray[Any]) -> NDArray[np.float64]:
    """The figures of a float32 array of any shape, in the order of `FIGURES`.

    `argmin` and `argmax` are flat and name the first such entry; they are -1, and the other
    figures of entries NaN or 0, where nothing is finite.
    """
    figures = _Figures()
    flat = np.ascontiguousarray(values, dtype=np.float32).reshape(-1)
    for start in range(0, flat.size, _ROWS * LANES):
        figures.add(flat[start : start + _ROWS * LANES])
    return np.array(figures.row())
