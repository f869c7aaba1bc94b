"""Dequantized weights: float32(code) * float32(scale), the exact product rounded once."""

from __future__ import annotations

from typing import Any

import numpy as np
from jaxtyping import Float32, Float64, Int64
from numpy.typing import NDArray

from trlm_lab.rungs.rounding import single
from trlm_lab.rungs.scales import scale_values
from trlm_lab.rungs.storage import Storage

Array = NDArray[Any]

_ENCODINGS = {"f32": "f32", "f16": "fp16", "bf16": "bf16"}


def values_of(
    codes: Int64[Array, "R C"], scales: Float64[Array, "R G"], storage: Storage
) -> Float32[Array, "R C"]:
    """A code of at most eight bits times a float32 is exact in float64."""
    if storage.dense:
        found: Float32[Array, "R C"] = scale_values(codes, _ENCODINGS[storage.name]).astype(
            np.float32
        )
        return found
    spread = np.repeat(scales, storage.group, axis=1)[:, : codes.shape[1]]
    product: Float32[Array, "R C"] = single(codes * spread)
    return product
