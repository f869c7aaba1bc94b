"""ULP distance of float32 arrays: the largest, and a histogram in powers of two."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float32
from numpy.typing import NDArray

from trlm_lab.base.bits import ulp_distance
from trlm_lab.metrics.chunks import spans

Array = NDArray[Any]

#: Bins: 0, then [2^b, 2^(b+1)) for b = 0..32; two finite float32 are less than 2^32 + 1 apart.
BINS = 34


@dataclass(frozen=True)
class UlpHistogram:
    """Counts by distance: `counts[0]` equal values, `counts[b + 1]` distances in [2^b, 2^(b+1)).

    `skipped` counts pairs in which either value is not finite; they have no distance.
    """

    counts: tuple[int, ...]
    skipped: int

    def rows(self) -> list[tuple[int, int, int]]:
        """(smallest, largest, count) of every bin up to the last that is not empty."""
        used = max((i for i, n in enumerate(self.counts) if n), default=0)
        edges = [(0, 0), *((1 << b, (1 << (b + 1)) - 1) for b in range(BINS - 1))]
        return [(*edges[i], self.counts[i]) for i in range(used + 1)]

    def __add__(self, other: UlpHistogram) -> UlpHistogram:
        """The histogram of both samples together."""
        counts = tuple(a + b for a, b in zip(self.counts, other.counts, strict=True))
        return UlpHistogram(counts, self.skipped + other.skipped)


def max_ulp(reference: Float32[Array, "*S"], candidate: Float32[Array, "*S"]) -> int:
    """The largest number of float32 steps between two finite arrays of one shape."""
    left, right = reference.reshape(-1), candidate.reshape(-1)
    return max((int(ulp_distance(left[s], right[s]).max()) for s in spans(left.size)), default=0)


def ulp_histogram(reference: NDArray[Any], candidate: NDArray[Any]) -> UlpHistogram:
    """Histogram of the distances of two float32 arrays of one shape."""
    counts = np.zeros(BINS, dtype=np.int64)
    left, right, skipped = reference.reshape(-1), candidate.reshape(-1), 0
    for span in spans(left.size):
        finite = np.isfinite(left[span]) & np.isfinite(right[span])
        skipped += int(finite.size - np.count_nonzero(finite))
        distance = ulp_distance(left[span][finite], right[span][finite])
        # frexp writes d = m * 2^e with m in [0.5, 1), so e is the bin: 0 for 0, b + 1 for 2^b.
        counts += np.bincount(np.frexp(distance.astype(np.float64))[1], minlength=BINS)
    return UlpHistogram(tuple(int(n) for n in counts), skipped)
