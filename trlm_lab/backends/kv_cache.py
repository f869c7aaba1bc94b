"""Keys and values of the tokens seen so far, one growing buffer a layer.

Keys are stored after rotation; attention reads the stored values for every key, the current one
included. The buffers double when full, so that a decode step does not copy the past.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from trlm_lab.ops.arithmetic import Array


@dataclass
class LayerCache:
    """`keys` and `values` of `length` tokens, each (capacity, K, E); later slots are free."""

    keys: Array
    values: Array
    length: int = 0

    def reserve(self, tokens: int) -> None:
        """Make room for `tokens` more."""
        needed = self.length + tokens
        if needed <= len(self.keys):
            return
        capacity = max(needed, 2 * len(self.keys))
        for name in ("keys", "values"):
            old = getattr(self, name)
            new = np.zeros((capacity, *old.shape[1:]), dtype=old.dtype)
            new[: self.length] = old[: self.length]
            setattr(self, name, new)


def remember(cache: LayerCache, k: Array, v: Array) -> tuple[Array, Array]:
    """Append (T, K, E) keys and values; the views of all stored ones, (S, K, E) each."""
    cache.reserve(len(k))
    end = cache.length + len(k)
    cache.keys[cache.length : end] = k
    cache.values[cache.length : end] = v
    cache.length = end
    return cache.keys[:end], cache.values[:end]


@dataclass
class KvCache:
    """The layers' caches of one conversation, and the padding mask of the tokens seen."""

    layers: list[LayerCache]
    keep: list[bool] = field(default_factory=list)

    @property
    def length(self) -> int:
        """Tokens seen."""
        return self.layers[0].length

    @classmethod
    def empty(cls, layers: int, kv_heads: int, head_dim: int, dtype: np.dtype[Any]) -> KvCache:
        """A cache of no tokens."""
        shape = (0, kv_heads, head_dim)
        return cls(
            [LayerCache(np.zeros(shape, dtype), np.zeros(shape, dtype)) for _ in range(layers)]
        )
