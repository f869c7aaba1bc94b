"""A paired bootstrap interval of a difference of means, over windows of text."""

from __future__ import annotations

from typing import Any

import numpy as np
from jaxtyping import Float
from numpy.typing import NDArray

Array = NDArray[Any]


def paired_interval(
    ours: Float[Array, "W T"],
    theirs: Float[Array, "W T"],
    *,
    resamples: int = 2000,
    level: float = 0.95,
    seed: int = 20260801,
) -> tuple[float, float]:
    """The percentile interval of mean(ours) - mean(theirs).

    Rows are windows; positions of one window go together, so that whole windows are drawn, the same
    ones on both sides.
    """
    gaps = (ours - theirs).mean(axis=1)
    draw = np.random.Generator(np.random.Philox(seed))
    picks = draw.integers(0, len(gaps), (resamples, len(gaps)))
    means = gaps[picks].mean(axis=1)
    low, high = np.quantile(means, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)
