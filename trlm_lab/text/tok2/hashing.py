"""The two hash tables: entries of a bucket stand together, so that nothing is ever probed twice.

`starts[j]` to `starts[j + 1]` are the entries of bucket j. The table is the same whatever the order
in which entries come.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from trlm_lab.text.tok2.numbers import pow2

Numbers = NDArray[np.uint32]
_GOLDEN, _SECOND = np.uint32(0x9E3779B1), np.uint32(0x85EBCA77)


def token_buckets(count: int) -> int:
    """Buckets for so many tokens."""
    return pow2(count // 2)


def merge_buckets(count: int) -> int:
    """Buckets for so many merges."""
    return pow2(count)


def token_hashes(tokens: Sequence[bytes]) -> Numbers:
    """CRC-32 of each token."""
    return np.fromiter(map(zlib.crc32, tokens), np.uint32, len(tokens))


def token_places(hashes: Numbers, buckets: int) -> Numbers:
    """The bucket of each token."""
    return _high_bits(hashes * _GOLDEN, buckets)


def merge_places(left: Numbers, right: Numbers, buckets: int) -> Numbers:
    """The bucket of each pair."""
    return _high_bits((left * _GOLDEN + right) * _SECOND, buckets)


def _high_bits(mixed: Numbers, buckets: int) -> Numbers:
    # A shift by all 32 bits has no meaning for numpy.
    wide = mixed.astype(np.uint64) >> np.uint64(32 - (buckets.bit_length() - 1))
    return wide.astype(np.uint32)


def starts_of(places: Numbers, buckets: int) -> Numbers:
    """Where each bucket begins, and where the last one ends."""
    counts = np.bincount(places, minlength=buckets)
    return np.concatenate([[0], np.cumsum(counts)]).astype(np.uint32)
