"""Dot products in the two pinned orders, an addition at a time over all rows at once."""

from __future__ import annotations

from typing import Any

import numpy as np
from jaxtyping import Float32
from numpy.typing import NDArray

Array = NDArray[Any]


def scalar_dot(x: Float32[Array, "T C"], weights: Float32[Array, "R C"]) -> Float32[Array, "T R"]:
    """One accumulator from +0.0, columns ascending, each product rounded before it is added."""
    total = np.zeros((len(x), len(weights)), np.float32)
    with np.errstate(all="ignore"):
        for column in range(x.shape[1]):
            total = total + x[:, column, None] * weights[None, :, column]
    return total


def lanes_dot(x: Float32[Array, "T C"], weights: Float32[Array, "R C"]) -> Float32[Array, "T R"]:
    """Sixteen accumulators, column c in lane c mod 16; merged (l, l+8), (l, l+4), and so on."""
    lanes = [scalar_dot(x[:, lane::16], weights[:, lane::16]) for lane in range(16)]
    while len(lanes) > 1:
        half = len(lanes) // 2
        lanes = [low + high for low, high in zip(lanes[:half], lanes[half:], strict=True)]
    return lanes[0]
