"""The k largest logits of each row: descending value, then ascending id."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float, Int

from trlm_lab.ops.arithmetic import Array

#: Entries of every trace's `logits.topk_*`, or the vocabulary where it is smaller.
TRACE_TOP_K = 64
#: Rows taken at a time, so that the copies stay small beside the logits.
_ROWS = 32


def top_k(
    logits: Float[Array, "T V"], k: int = TRACE_TOP_K
) -> tuple[Int[Array, "T k"], Float[Array, "T k"]]:
    """Ids (int64) and values of the min(k, V) largest; NaN sorts last, zeros of both signs tie."""
    k = min(k, logits.shape[-1])
    order = np.empty((len(logits), k), dtype=np.int64)
    for start in range(0, len(logits), _ROWS):
        order[start : start + _ROWS] = _largest(logits[start : start + _ROWS], k)
    return order, np.take_along_axis(logits, order, axis=-1)


def _largest(logits: Array, k: int) -> Array:
    order = np.empty((len(logits), k), dtype=np.int64)
    for row, bound, ids in zip(logits, _bounds(logits, k), order, strict=True):
        # Where a row has a NaN its bound may be one, and all of it is sorted.
        candidates = np.arange(row.size) if np.isnan(bound) else np.flatnonzero(row >= bound)
        ids[:] = candidates[np.argsort(-row[candidates], kind="stable")[:k]]
    return order


def _bounds(logits: Array, k: int) -> Array:
    """Of each row a value that at least k entries reach: the k-th largest maximum of its runs.

    Only what reaches it is sorted, some hundred entries in place of 49152.
    """
    run = max(1, logits.shape[-1] // (4 * k))
    runs = logits[:, : logits.shape[-1] // run * run].reshape(len(logits), -1, run)
    return -np.partition(-runs.max(axis=-1), k - 1, axis=-1)[:, k - 1]
