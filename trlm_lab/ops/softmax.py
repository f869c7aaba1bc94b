"""Softmax over the visible keys: exp(s - max), their sum in the profile's order, then division.

The index of a term in the sum is its ordinal among the visible keys of the row, from the oldest;
masked keys take part neither in the maximum nor in the sum and come out as +0.0.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Bool, Float

from trlm_lab.errors import AllKeysMaskedError, ShapeMismatchError
from trlm_lab.ops import by_dtype
from trlm_lab.ops.arithmetic import Arithmetic, Array
from trlm_lab.ops.reduction import ordered_sum


def require_visible_keys(visible: Bool[Array, "*T S"]) -> None:
    """Raise AllKeysMaskedError for the first row without a visible key."""
    empty = ~visible.any(axis=-1)
    if empty.any():
        row = np.argwhere(np.atleast_1d(empty))[0].tolist()
        raise AllKeysMaskedError(where="softmax", row=row[0] if len(row) == 1 else row)


def _oldest_first(terms: Array, visible: Bool[Array, "*T S"]) -> Array:
    """Move the visible terms of each row to its front, order kept; the rest is zero already."""
    gaps = visible[..., 1:] & ~visible[..., :-1]
    if not gaps.any():
        return terms
    order = np.argsort(~visible, axis=-1, kind="stable")
    return np.asarray(np.take_along_axis(terms, np.broadcast_to(order, terms.shape), axis=-1))


@np.errstate(all="ignore")
def softmax(
    scores: Float[Array, "*H T S"], visible: Bool[Array, "T S"], arithmetic: Arithmetic
) -> Float[Array, "*H T S"]:
    """Softmax over the last axis; `visible` broadcasts over the leading axes of `scores`.

    Raises:
        AllKeysMaskedError: a row without a visible key, named by its index, unless the profile
            makes such rows zero.
        ShapeMismatchError: `visible` does not fit `scores`.
    """
    scores = arithmetic.array(scores)
    if visible.shape != scores.shape[scores.ndim - visible.ndim :]:
        raise ShapeMismatchError(
            where="softmax", name="mask", got=visible.shape, expected=f"to end as {scores.shape}"
        )
    if arithmetic.masked_rows == "error":
        require_visible_keys(visible)
    zero = arithmetic.dtype.type(0)
    highest = np.where(visible, scores, -np.inf).max(axis=-1, keepdims=True)
    weights = np.where(visible, by_dtype.exp(scores - highest), zero)
    terms = np.ascontiguousarray(np.moveaxis(_oldest_first(weights, visible), -1, 0))
    total = np.asarray(ordered_sum(terms, arithmetic))[..., None]
    return np.asarray(np.where(visible, weights / total, zero))
