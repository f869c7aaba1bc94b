"""The sums of the evaluation profiles in a loop over single float32 numbers."""

import numpy as np

F32 = np.float32


def add_up(terms: list[F32], lanes: int) -> F32:
    """A sum in `lanes` partial sums, which are then added in halves."""
    partial = [F32(0)] * lanes
    for i, term in enumerate(terms):
        partial[i % lanes] = F32(partial[i % lanes] + term)
    while len(partial) > 1:
        half = len(partial) // 2
        partial = [F32(partial[i] + partial[i + half]) for i in range(half)]
    return partial[0]
