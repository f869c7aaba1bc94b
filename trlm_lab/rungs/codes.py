"""Integer codes: the unrounded ratio, the rounded one, and the saturated code."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float32, Float64, Int64
from numpy.typing import NDArray

from trlm_lab.rungs.rounding import nearest_even, nearest_float, single
from trlm_lab.rungs.scales import float_words
from trlm_lab.rungs.storage import DENSE, Storage

Array = NDArray[Any]

_ENCODINGS = {"f16": ("fp16", -24, 15), "bf16": ("bf16", -133, 15)}


@dataclass(frozen=True)
class Rounded:
    """Of a row: x / scale as float32, its nearest integer, and the code, clamped to +-q."""

    ratio: Float64[Array, "R C"]
    nearest: Float64[Array, "R C"]
    codes: Int64[Array, "R C"]


def rounded(
    rows: Float32[Array, "R C"], scales: Float64[Array, "R G"], storage: Storage
) -> Rounded:
    """Codes of a format with scales; a group with scale 0 has codes 0.

    A float64 quotient of two float32 rounds to the float32 that true division gives.
    """
    spread = np.repeat(scales, storage.group, axis=1)[:, : rows.shape[1]]
    divisor = np.where(spread == 0, 1.0, spread)
    quotient = single(rows.astype(np.float64) / divisor).astype(np.float64)
    ratio = np.where(spread == 0, 0.0, quotient)
    nearest = nearest_even(ratio)
    clamped = np.minimum(np.maximum(nearest, -storage.q), storage.q)
    return Rounded(ratio, nearest, clamped.astype(np.int64))


def words_of(rows: Float32[Array, "R C"], storage: Storage) -> Int64[Array, "R C"]:
    """The words of a dense format: nearest, ties to even, subnormals and signs kept."""
    bits = rows.view(np.uint32).astype(np.int64)
    if storage.name == "f32":
        return bits
    encoding, least, sign = _ENCODINGS[storage.name]
    digits = DENSE[storage.name][1]
    near = nearest_float(np.abs(rows.astype(np.float64)), digits, least)
    return np.asarray(float_words(near, encoding) | (bits >> 31) << sign)
