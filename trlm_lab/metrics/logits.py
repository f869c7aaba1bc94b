"""What a change of logits means for the next token: divergence, top-k agreement, margin, rank.

These figures are reported beside the bound on the logits and never replace it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from jaxtyping import Float, Float64, Int64
from numpy.typing import NDArray

from trlm_lab.base.records import LogitMetrics
from trlm_lab.metrics.chunks import F64
from trlm_lab.metrics.greedy import top_margins

Array = NDArray[Any]
I64 = NDArray[np.int64]

#: How many of the highest logits are compared as a set; traces hold as many.
TOP_K: Final = 64


@dataclass(frozen=True)
class PositionFigures:
    """One value a position, shape (T,).

    `kl_forward` is KL(reference || candidate) and `kl_reverse` the other way, in nats;
    `top_k_agreement` the share of the reference's k highest ids among the candidate's; `margin`
    the reference's gap between its two highest logits; `rank` the place (0 is first) of the
    reference's greedy token in the candidate's order; `top1_equal` whether the tokens agree.
    """

    kl_forward: F64
    kl_reverse: F64
    top_k_agreement: F64
    margin: F64
    rank: I64
    top1_equal: NDArray[np.bool_]


def log_softmax(row: Float[Array, " V"]) -> Float64[Array, " V"]:
    """Logarithm of the softmax of one row, in float64."""
    shifted = row.astype(np.float64)
    shifted -= shifted.max()
    shifted -= np.log(np.exp(shifted).sum())
    return shifted


def top_ids(row: Float[Array, " V"], k: int) -> Int64[Array, " k"]:
    """The k highest ids of one row: descending value, then ascending id."""
    k = min(k, row.size)
    threshold = np.partition(row, row.size - k)[row.size - k]
    # Every id at the threshold takes part, so that ties are cut by id and not by chance.
    ids = np.flatnonzero(row >= threshold)
    order = np.lexsort((ids, -row[ids].astype(np.float64)))
    return ids[order[:k]].astype(np.int64)


def _divergences(reference: Array, candidate: Array) -> tuple[float, float]:
    p, q = log_softmax(reference), log_softmax(candidate)
    gap = p - q
    forward, reverse = float((np.exp(p) * gap).sum()), float((np.exp(q) * -gap).sum())
    # Both are >= 0; rounding may leave a negative residue of the order of 1e-16.
    return max(forward, 0.0), max(reverse, 0.0)


def _rank(row: Array, token: int) -> int:
    higher = np.count_nonzero(row > row[token])
    return int(higher + np.count_nonzero(row[:token] == row[token]))


def position_figures(
    reference: Float[Array, "T V"], candidate: Float[Array, "T V"], k: int = TOP_K
) -> PositionFigures:
    """Figures of two finite arrays of logits (T, V), V of 2 or more, position by position."""
    positions, vocabulary = reference.shape
    k = min(k, vocabulary)
    kl = np.zeros((2, positions))
    agreement = np.ones(positions)
    for t in range(positions):
        if np.array_equal(reference[t], candidate[t]):
            continue
        kl[:, t] = _divergences(reference[t], candidate[t])
        shared = np.intersect1d(top_ids(reference[t], k), top_ids(candidate[t], k))
        agreement[t] = shared.size / k
    own = np.argmax(reference, axis=-1)
    ranks = [_rank(candidate[t], int(own[t])) for t in range(positions)]
    equal = own == np.argmax(candidate, axis=-1)
    margins = top_margins(reference)
    return PositionFigures(kl[0], kl[1], agreement, margins, np.array(ranks, np.int64), equal)


def logit_metrics(
    reference: Float[Array, "T V"], candidate: Float[Array, "T V"], k: int = TOP_K
) -> LogitMetrics:
    """The record of `position_figures`: worst values beside means."""
    rows = position_figures(reference, candidate, k)
    return LogitMetrics(
        positions=reference.shape[0],
        top_k=min(k, reference.shape[1]),
        kl_forward_max=float(rows.kl_forward.max()),
        kl_forward_mean=float(rows.kl_forward.mean()),
        kl_reverse_max=float(rows.kl_reverse.max()),
        kl_reverse_mean=float(rows.kl_reverse.mean()),
        top_k_agreement_min=float(rows.top_k_agreement.min()),
        top_k_agreement_mean=float(rows.top_k_agreement.mean()),
        top1_equal=int(np.count_nonzero(rows.top1_equal)),
        margin_min=float(rows.margin.min()),
        rank_max=int(rows.rank.max()),
    )
