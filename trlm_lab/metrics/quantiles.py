"""Exact quantiles: elements of the sample, never interpolated."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

#: The quantiles that every comparison records, as exact decimals.
QUANTILES: Final = (Fraction(1, 2), Fraction(9, 10), Fraction(99, 100), Fraction(999, 1000))


def exact_quantiles(
    values: NDArray[Any], quantiles: Sequence[Fraction] = QUANTILES
) -> tuple[float, ...]:
    """The smallest element that at least a share q of the sample does not exceed, for each q.

    This is the inverse of the empirical distribution: sorted element ceil(q * n), counted from
    one. q is a fraction, so that the rank is exact. An empty sample gives zeros.
    """
    flat = values.reshape(-1)
    if flat.size == 0:
        return tuple(0.0 for _ in quantiles)
    ranks = [max(math.ceil(q * flat.size) - 1, 0) for q in quantiles]
    ordered = np.partition(flat, sorted(set(ranks)))
    return tuple(float(ordered[rank]) for rank in ranks)
