"""Orders in which a dot product may be summed, each computed as an engine of that order would."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

import numpy as np
from numpy.typing import NDArray

F32 = NDArray[np.float32]

#: Accumulators side by side; element i goes to accumulator i mod lanes.
LANES: Final = (1, 2, 4, 8, 16, 32)

Merge = Callable[[F32], F32]


def _halves(sums: F32) -> F32:
    """(l, l + n/2) until one is left; lanes along axis 1."""
    while sums.shape[1] > 1:
        half = sums.shape[1] // 2
        sums = sums[:, :half] + sums[:, half:]
    return sums[:, 0]


def _neighbours(sums: F32) -> F32:
    """(2l, 2l + 1) until one is left."""
    while sums.shape[1] > 1:
        sums = sums[:, 0::2] + sums[:, 1::2]
    return sums[:, 0]


def _in_turn(sums: F32) -> F32:
    """From the first lane to the last."""
    total = sums[:, 0]
    for lane in range(1, sums.shape[1]):
        total = total + sums[:, lane]
    return total


def _eights(sums: F32) -> F32:
    """Registers of eight lanes by halves; in the last one halves of four, then neighbours."""
    while sums.shape[1] > 4:
        half = sums.shape[1] // 2
        sums = sums[:, :half] + sums[:, half:]
    return _neighbours(sums)


MERGES: Final[dict[str, Merge]] = {
    "halves": _halves,
    "neighbours": _neighbours,
    "in turn": _in_turn,
    "halves, the last four by neighbours": _eights,
}


def candidates(x: F32, rows: F32) -> Iterator[tuple[str, bool, F32]]:
    """Name of an order, whether each step is fused, and the sums of all rows in it."""
    for fused in (False, True):
        for lanes in LANES:
            sums = _lanes(x, rows, lanes, fused)
            for name, merge in MERGES.items():
                if lanes == 1:
                    yield "ascending", fused, _in_turn(sums)
                    break
                yield f"{lanes} lanes, merged by {name}", fused, merge(sums)
        yield "descending", fused, _in_turn(_lanes(x[::-1], rows[:, ::-1], 1, fused))
    yield "pairwise", False, _neighbours(x * rows)
    exact = rows.astype(np.float64) @ x.astype(np.float64)
    yield "wider than float32, rounded once", False, exact.astype(np.float32)


def _lanes(x: F32, rows: F32, lanes: int, fused: bool) -> F32:
    """One accumulator a lane, from +0.0, shape (R, lanes)."""
    sums = np.zeros((len(rows), lanes), np.float32)
    for first in range(0, rows.shape[1], lanes):
        part, weights = x[first : first + lanes], rows[:, first : first + lanes]
        if fused:
            # A product of two float32 is exact in float64. The sum is rounded there once more,
            # which changes none of the experiments' rows.
            wide = part.astype(np.float64) * weights.astype(np.float64)
            sums = (sums.astype(np.float64) + wide).astype(np.float32)
        else:
            sums = sums + part * weights
    return sums
