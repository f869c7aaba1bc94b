"""Q8_0: 32 codes of 8 bits and a binary16 scale; w = d * q."""

from __future__ import annotations

from typing import Any

import numpy as np
from jaxtyping import Float32
from numpy.typing import NDArray

from trlm_lab.quant.ggml.decoder import GgmlDecoder, single

Array = NDArray[Any]
_RECORD = np.dtype([("d", "<f2"), ("codes", "i1", 32)])


def _values(blocks: Array) -> Float32[Array, "N 32"]:
    return single(blocks["d"]) * blocks["codes"].astype(np.float32)


Q8_0 = GgmlDecoder("Q8_0", 32, _RECORD, _values)
