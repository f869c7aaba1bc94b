"""Embedding: the table's rows of the token ids, their scale, and learned positions."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float, Int

from trlm_lab.errors import TokenRangeError
from trlm_lab.ops.arithmetic import Arithmetic, Array
from trlm_lab.ops.matmul import RowBlocks


def check_token_range(token_ids: Int[Array, " T"], vocab: int) -> None:
    """Raise TokenRangeError for the first id that is negative or not below `vocab`."""
    outside = np.flatnonzero((token_ids < 0) | (token_ids >= vocab))
    if len(outside):
        index = int(outside[0])
        raise TokenRangeError(
            where="embedding", token=int(token_ids[index]), index=index, vocab=vocab
        )


@np.errstate(all="ignore")
def scaled_embedding(
    x: Float[Array, "*T D"], scale: float, arithmetic: Arithmetic
) -> Float[Array, "*T D"]:
    """Embeddings times the materialised float32 scale."""
    return np.asarray(arithmetic.array(x) * arithmetic.dtype.type(scale))


@np.errstate(all="ignore")
def add_positions(
    x: Float[Array, "T D"], table: RowBlocks, positions: Int[Array, " T"], arithmetic: Arithmetic
) -> Float[Array, "T D"]:
    """Row `positions[t]` of the learned `table` (positions, D) added to each token.

    Raises:
        TokenRangeError: a position that the table does not hold.
    """
    return np.asarray(arithmetic.array(x) + embedding(table, positions, arithmetic))


def embedding(
    table: RowBlocks, token_ids: Int[Array, " T"], arithmetic: Arithmetic
) -> Float[Array, "T D"]:
    """Row `token_ids[t]` of `table` (V, D) for each t.

    Raises:
        TokenRangeError: an id is negative or not below V.
    """
    check_token_range(token_ids, table.shape[0])
    rows = np.empty((len(token_ids), table.shape[1]), dtype=arithmetic.dtype)
    for index, token in enumerate(token_ids.tolist()):
        rows[index] = table[token : token + 1][0]
    return rows
