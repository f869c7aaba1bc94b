"""Attention masks as Booleans: True where a query may see a key.

Masked keys are left out of sums, never added as large negatives, and masks combine by logical and,
so that two of them cannot overflow.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Bool

from trlm_lab.errors import ShapeMismatchError
from trlm_lab.ops.arithmetic import Array

#: How traces show a masked score: the most negative finite float32.
MASKED_SCORE = np.finfo(np.float32).min


def causal_mask(queries: int, keys: int | None = None) -> Bool[Array, "T S"]:
    """Each query sees itself and every earlier key; the queries are the last of the keys."""
    keys = queries if keys is None else keys
    if not 0 < queries <= keys:
        raise ShapeMismatchError(
            where="causal_mask", name="queries", got=queries, expected=f"1 to {keys} (keys)"
        )
    own = np.arange(keys - queries, keys)[:, None]
    return np.asarray(np.arange(keys)[None, :] <= own)


def sliding_window_mask(queries: int, window: int, keys: int | None = None) -> Bool[Array, "T S"]:
    """Each query sees itself and the `window` - 1 keys before it."""
    keys = queries if keys is None else keys
    if window < 1:
        raise ShapeMismatchError(
            where="sliding_window_mask", name="window", got=window, expected="at least 1"
        )
    own = np.arange(keys - queries, keys)[:, None]
    near = np.arange(keys)[None, :] > own - window
    return np.asarray(causal_mask(queries, keys) & near)


def without_padding(visible: Bool[Array, "T S"], keep: Bool[Array, " S"]) -> Bool[Array, "T S"]:
    """The mask with padding keys (keep False) hidden from every query."""
    if keep.shape != visible.shape[1:]:
        raise ShapeMismatchError(
            where="attention_mask", name="keep", got=keep.shape, expected=f"({visible.shape[1]},)"
        )
    return np.asarray(visible & keep[None, :])
