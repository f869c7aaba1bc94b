"""The k largest logits of each row: descending value, then ascending id."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float, Int

from trlm_lab.ops.arithmetic import Array

#: Entries of every trace's `logits.topk_*`, or the vocabulary where it is smaller.
TRACE_TOP_K = 64


def top_k(
    logits: Float[Array, "T V"], k: int = TRACE_TOP_K
) -> tuple[Int[Array, "T k"], Float[Array, "T k"]]:
    """Ids (int64) and values of the min(k, V) largest; NaN sorts last, zeros of both signs tie."""
    order = np.argsort(-logits, axis=-1, kind="stable")[:, :k]
    return order.astype(np.int64), np.take_along_axis(logits, order, axis=-1)
