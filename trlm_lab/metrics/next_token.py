"""What other weights mean for the next token, over many positions at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from jaxtyping import Float, Float64, Int64
from numpy.typing import NDArray

Array = NDArray[Any]
#: Rows that are worked on at a time.
ROWS: Final = 64


@dataclass(frozen=True)
class NextToken:
    """One value a position, shape (T,).

    `kl` is KL(reference || candidate) in nats, `top1_equal` whether both choose the same id (the
    lower one among equals), `nll` the candidate's -log p of the id that follows.
    """

    kl: Float64[Array, " T"]
    top1_equal: NDArray[np.bool_]
    nll: Float64[Array, " T"]


def log_softmax_rows(logits: Float[Array, "T V"]) -> Float64[Array, "T V"]:
    """Logarithm of the softmax of every row, in float64."""
    shifted = logits.astype(np.float64)
    shifted -= shifted.max(axis=1, keepdims=True)
    shifted -= np.log(np.exp(shifted).sum(axis=1, keepdims=True))
    return shifted


def next_token(
    reference: Float[Array, "T V"], candidate: Float[Array, "T V"], targets: Int64[Array, " T"]
) -> NextToken:
    """Figures of two finite arrays of logits; `targets` are the ids that follow.

    Some rows are worked on at a time: a vocabulary may be wide.
    """
    parts = [
        _some(reference[low : low + ROWS], candidate[low : low + ROWS], targets[low : low + ROWS])
        for low in range(0, len(targets), ROWS)
    ]
    return NextToken(
        np.concatenate([part.kl for part in parts]),
        np.concatenate([part.top1_equal for part in parts]),
        np.concatenate([part.nll for part in parts]),
    )


def _some(
    reference: Float[Array, "T V"], candidate: Float[Array, "T V"], targets: Int64[Array, " T"]
) -> NextToken:
    p, q = log_softmax_rows(reference), log_softmax_rows(candidate)
    kl = np.maximum((np.exp(p) * (p - q)).sum(axis=1), 0.0)
    equal = reference.argmax(axis=1) == candidate.argmax(axis=1)
    return NextToken(kl, equal, -q[np.arange(len(targets)), targets])
