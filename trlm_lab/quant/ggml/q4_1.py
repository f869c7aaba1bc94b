"""Q4_1: 32 codes of 4 bits, binary16 scale d and least value m; w = (d * q) + m."""

from __future__ import annotations

from typing import Any

import numpy as np
from jaxtyping import Float32
from numpy.typing import NDArray

from trlm_lab.quant.ggml.decoder import GgmlDecoder, nibbles, single

Array = NDArray[Any]
_RECORD = np.dtype([("d", "<f2"), ("m", "<f2"), ("codes", "u1", 16)])


def _values(blocks: Array) -> Float32[Array, "N 32"]:
    codes = nibbles(blocks["codes"], 16).astype(np.float32)
    return single(blocks["d"]) * codes + single(blocks["m"])


Q4_1 = GgmlDecoder("Q4_1", 32, _RECORD, _values)
