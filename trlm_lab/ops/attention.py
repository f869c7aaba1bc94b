"""Grouped-query attention: scores, softmax over the visible keys, value sums.

Ainslie et al., GQA (2023), section 2.2: H query heads share K key/value heads in H/K consecutive
groups. score = dot(q, k) over E in the profile's order, times the scale, then the soft cap, then
the mask. Value sums take one accumulator a channel and ascending visible keys in every profile.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Bool, Float, Int

from trlm_lab.errors import ShapeMismatchError
from trlm_lab.ops.arithmetic import Arithmetic, Array
from trlm_lab.ops.reduction import sum_of_products
from trlm_lab.ops.softcap import softcap
from trlm_lab.ops.softmax import softmax


def grouped_heads(heads: int, kv_heads: int) -> Int[Array, " H"]:
    """The key/value head of each query head: h // (H/K)."""
    if kv_heads < 1 or heads % kv_heads:
        raise ShapeMismatchError(
            where="attention", name="query heads", got=heads, expected=f"a multiple of {kv_heads}"
        )
    return np.arange(heads) // (heads // kv_heads)


def check_attention_shapes(q: Array, k: Array, v: Array) -> None:
    """Raise ShapeMismatchError unless q is (T, H, E), k (S, K, E), v (S, K, *), and K divides H."""
    if k.shape[2:] != q.shape[2:]:
        raise ShapeMismatchError(
            where="attention", name="k", got=k.shape, expected=f"(S, K, E) for q {q.shape}"
        )
    if v.shape[:2] != k.shape[:2]:
        raise ShapeMismatchError(
            where="attention", name="v", got=v.shape, expected=f"as k {k.shape}"
        )
    grouped_heads(q.shape[1], k.shape[1])


@np.errstate(all="ignore")
def attention_scores(
    q: Float[Array, "T H E"],
    k: Float[Array, "S K E"],
    kv_of_head: Int[Array, " H"],
    scale: float,
    arithmetic: Arithmetic,
) -> Float[Array, "H T S"]:
    """dot(q, k) over E, then times the scale, for every query and key (masked ones too)."""
    q, k = arithmetic.array(q), arithmetic.array(k)
    if q.ndim != 3 or k.ndim != 3 or q.shape[-1] != k.shape[-1]:
        raise ShapeMismatchError(
            where="attention", name="k", got=k.shape, expected=f"(S, K, E) for q {q.shape}"
        )
    queries = np.ascontiguousarray(q.transpose(2, 1, 0))[..., None]
    keys = np.ascontiguousarray(k[:, kv_of_head].transpose(2, 1, 0))[:, :, None, :]
    return np.asarray(sum_of_products(queries, keys, arithmetic) * arithmetic.dtype.type(scale))


def _span(rows: Int[Array, " R"]) -> slice | Array:
    """The rows as a slice where they are consecutive: NumPy then updates in place, uncopied."""
    consecutive = rows[-1] - rows[0] + 1 == len(rows)
    return slice(int(rows[0]), int(rows[-1]) + 1) if consecutive else rows


@np.errstate(all="ignore")
def attention_values(
    probs: Float[Array, "H T S"],
    v: Float[Array, "S K E"],
    kv_of_head: Int[Array, " H"],
    visible: Bool[Array, "T S"],
    arithmetic: Arithmetic,
) -> Float[Array, "T H E"]:
    """Sum of probability times value over the visible keys, ascending; one accumulator each."""
    probs, v = arithmetic.array(probs), arithmetic.array(v)
    if v.ndim != 3 or len(v) != probs.shape[-1]:
        raise ShapeMismatchError(
            where="attention", name="v", got=v.shape, expected=f"({probs.shape[-1]}, K, E)"
        )
    values = np.ascontiguousarray(v[:, kv_of_head])[:, :, None, :]
    total = np.zeros((*probs.shape[:2], v.shape[-1]), dtype=arithmetic.dtype)
    for key in range(len(values)):
        rows = np.flatnonzero(visible[:, key])
        if len(rows):
            span = _span(rows)
            total[:, span] += probs[:, span, key, None] * values[key]
    return np.ascontiguousarray(total.transpose(1, 0, 2))


def attention(
    q: Float[Array, "T H E"],
    k: Float[Array, "S K E"],
    v: Float[Array, "S K E"],
    visible: Bool[Array, "T S"],
    scale: float,
    arithmetic: Arithmetic,
    cap: float | None = None,
) -> Float[Array, "T H E"]:
    """The whole operator.

    Raises:
        AllKeysMaskedError: a query that sees no key.
        ShapeMismatchError: the shapes do not fit each other.
    """
    check_attention_shapes(q, k, v)
    kv_of_head = grouped_heads(q.shape[1], k.shape[1])
    scores = attention_scores(q, k, kv_of_head, scale, arithmetic)
    if cap is not None:
        scores = softcap(scores, cap, arithmetic)
    probs = softmax(scores, visible, arithmetic)
    return attention_values(probs, v, kv_of_head, visible, arithmetic)
