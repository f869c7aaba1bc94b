"""Norms over the last axis by their formulas, in float32 with one ascending accumulator."""

from __future__ import annotations

from typing import Any

import numpy as np
from jaxtyping import Float32
from numpy.typing import NDArray

Array = NDArray[Any]


def _sum(x: Float32[Array, "N C"]) -> Float32[Array, "N 1"]:
    """From +0.0, ascending: the last of the running sums."""
    start = np.zeros((len(x), 1), np.float32)
    running: Float32[Array, "N C1"] = np.add.accumulate(
        np.concatenate([start, x], axis=1), axis=1, dtype=np.float32
    )
    return running[:, -1:]


def _inverse_root(mean: Float32[Array, "N 1"], eps: float) -> Float32[Array, "N 1"]:
    root: Float32[Array, "N 1"] = np.float32(1) / np.sqrt(mean + np.float32(eps))
    return root


def rms_normed(
    x: Float32[Array, "N C"], factor: Float32[Array, " C"], eps: float
) -> Float32[Array, "N C"]:
    """factor * (x * (1 / sqrt(sum(x x) / C + eps)))."""
    mean = _sum(x * x) / np.float32(x.shape[1])
    return np.asarray(factor * (x * _inverse_root(mean, eps)))


def layer_normed(
    x: Float32[Array, "N C"], weight: Float32[Array, " C"], bias: Float32[Array, " C"], eps: float
) -> Float32[Array, "N C"]:
    """((x - mean) * (1 / sqrt(v + eps))) * weight + bias, v = sum((x - mean)^2) / C."""
    centred = x - _sum(x) / np.float32(x.shape[1])
    mean = _sum(centred * centred) / np.float32(x.shape[1])
    return (centred * _inverse_root(mean, eps)) * weight + bias
