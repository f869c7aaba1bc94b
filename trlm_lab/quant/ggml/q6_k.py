"""Q6_K: 256 codes of 6 bits in sixteen groups of 16, each with a signed scale of 8 bits.

w = (d * s) * (q - 32), with a binary16 d. The low four bits are nibbles, of every 64 bytes first
the low ones; of the top two bits every 32 bytes hold those of 128 codes, 32 codes a bit pair.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from jaxtyping import Float32
from numpy.typing import NDArray

from trlm_lab.quant.ggml.decoder import GgmlDecoder, nibbles, single

Array = NDArray[Any]
_RECORD = np.dtype([("low", "u1", 128), ("high", "u1", 64), ("scales", "i1", 16), ("d", "<f2")])
_SHIFTS = np.array([0, 2, 4, 6], np.uint8)[:, None]


def _values(blocks: Array) -> Float32[Array, "N 256"]:
    pairs = blocks["high"].reshape(len(blocks), 2, 1, 32) >> _SHIFTS
    top = (pairs & 3).reshape(len(blocks), 256)
    codes = (nibbles(blocks["low"], 64) | top << 4).astype(np.float32) - np.float32(32)
    factor = single(blocks["d"]) * blocks["scales"].astype(np.float32)
    values: Float32[Array, "N 16 16"] = factor[:, :, None] * codes.reshape(len(blocks), 16, 16)
    return values.reshape(len(blocks), 256)


Q6_K = GgmlDecoder("Q6_K", 256, _RECORD, _values)
