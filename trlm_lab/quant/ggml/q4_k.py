"""Q4_K: 256 codes of 4 bits in eight groups of 32, each with a scale and a least value of 6 bits.

w = (d * s) * q - (dmin * m), with binary16 d and dmin. The twelve bytes of s and m are three
quartets a, b, c: of the groups 0 to 3 s is the low six bits of a and m those of b; of the groups
4 to 7 their low four bits are the low (s) and high (m) nibbles of c, their top two bits those of
a and b.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from jaxtyping import Float32, UInt8
from numpy.typing import NDArray

from trlm_lab.quant.ggml.decoder import GgmlDecoder, nibbles, single

Array = NDArray[Any]
_RECORD = np.dtype([("d", "<f2"), ("dmin", "<f2"), ("factors", "u1", (3, 4)), ("codes", "u1", 128)])


def _factors(blocks: Array) -> tuple[UInt8[Array, "N 8"], UInt8[Array, "N 8"]]:
    """s and m of the eight groups."""
    a, b, c = (blocks["factors"][:, quartet] for quartet in range(3))
    scales = np.concatenate((a & 0x3F, (c & 0x0F) | (a >> 6) << 4), axis=1)
    least = np.concatenate((b & 0x3F, (c >> 4) | (b >> 6) << 4), axis=1)
    return scales, least


def _values(blocks: Array) -> Float32[Array, "N 256"]:
    scales, least = _factors(blocks)
    factor = single(blocks["d"]) * scales.astype(np.float32)
    offset = single(blocks["dmin"]) * least.astype(np.float32)
    codes = nibbles(blocks["codes"], 32).reshape(len(blocks), 8, 32).astype(np.float32)
    values: Float32[Array, "N 8 32"] = factor[:, :, None] * codes - offset[:, :, None]
    return values.reshape(len(blocks), 256)


Q4_K = GgmlDecoder("Q4_K", 256, _RECORD, _values)
