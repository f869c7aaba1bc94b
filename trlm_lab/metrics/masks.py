"""Masked entries of `attn_masked`: which values mark them, and whether two sets agree.

Both the most negative finite float32 and minus infinity mark a masked entry; the two are one mark.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from jaxtyping import Bool, Float
from numpy.typing import NDArray

Array = NDArray[Any]

MOST_NEGATIVE: Final = np.finfo(np.float32).min

#: The operators whose arrays hold marks instead of values at masked entries.
MASKED_OPERATORS: Final = frozenset({"attn_masked"})


def masked_entries(values: Float[Array, "*S"]) -> Bool[Array, "*S"]:
    """Which entries are masked: -inf or the most negative finite float32."""
    masked: NDArray[np.bool_] = (values == MOST_NEGATIVE) | np.isneginf(values)
    return masked


def future_entries(shape: tuple[int, ...]) -> Bool[Array, "*S"]:
    """Entries (h, t, s) of an H T S array whose key s lies after the query t."""
    queries, keys = shape[-2], shape[-1]
    upper = np.arange(keys)[None, :] > np.arange(queries)[:, None]
    return np.broadcast_to(upper, shape)
