"""Clipping and scales of a block of rows: how far each group reaches, and the word of its scale."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float32, Float64, Int64
from numpy.typing import NDArray

from trlm_lab.rungs.codes import rounded
from trlm_lab.rungs.rounding import single
from trlm_lab.rungs.scales import scale_values, scale_words
from trlm_lab.rungs.storage import Storage
from trlm_lab.rungs.values import values_of

Array = NDArray[Any]


@dataclass(frozen=True)
class Parameters:
    """Of each group: its largest magnitude, the fraction of it that is kept, the scale's word."""

    absmax: Float64[Array, "R G"]
    fraction: Float64[Array, "R G"]
    words: Int64[Array, "R G"]


def parameters(rows: Float32[Array, "R C"], storage: Storage) -> Parameters:
    """The parameters of rows; of a dense format none."""
    if storage.dense:
        empty = np.zeros((len(rows), 0))
        return Parameters(empty, empty, empty.astype(np.int64))
    absmax = _absmax(rows, storage)
    whole = np.ones(absmax.shape)
    if not storage.fractions:
        return Parameters(absmax, whole, _words(absmax, storage))
    return _searched(rows, absmax, storage)


def _absmax(rows: Float32[Array, "R C"], storage: Storage) -> Float64[Array, "R G"]:
    """Magnitudes compared as integers: without its sign a float's bits ascend with it."""
    count, cols = rows.shape
    groups = storage.groups(cols)
    bits = np.zeros((count, groups * storage.group), np.uint32)
    bits[:, :cols] = rows.view(np.uint32) & np.uint32(0x7FFFFFFF)
    largest = bits.reshape(count, groups, storage.group).max(axis=2)
    return np.asarray(largest.view(np.float32), np.float64)


def _words(absmax: Float64[Array, "R G"], storage: Storage) -> Int64[Array, "R G"]:
    return scale_words(absmax, storage.q, storage.scales, storage.zero)


def _searched(
    rows: Float32[Array, "R C"], absmax: Float64[Array, "R G"], storage: Storage
) -> Parameters:
    """The first fraction with the least sum of squared errors."""
    fractions = [float(np.float32(f)) for f in storage.fractions]
    tried = [_words(single(absmax * f).astype(np.float64), storage) for f in fractions]
    errors = np.stack([_error(rows, words, storage) for words in tried])
    best = errors.argmin(axis=0)
    words = np.take_along_axis(np.stack(tried), best[None], axis=0)[0]
    return Parameters(absmax, np.array(fractions)[best], words)


def _error(
    rows: Float32[Array, "R C"], words: Int64[Array, "R G"], storage: Storage
) -> Float64[Array, "R G"]:
    """Squared float32 differences of each group, added in a tree: c with c + half, again."""
    scales = scale_values(words, storage.scales)
    near = values_of(rounded(rows, scales, storage).codes, scales, storage)
    squares = np.zeros((len(rows), words.shape[1] * storage.group))
    squares[:, : rows.shape[1]] = (rows - near).astype(np.float64) ** 2
    groups = squares.reshape(*words.shape, storage.group)
    while groups.shape[-1] > 1:
        groups = groups.reshape(*words.shape, 2, -1).sum(axis=2)
    return groups[..., 0]
