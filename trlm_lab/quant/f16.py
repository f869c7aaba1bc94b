"""f16: IEEE binary16, nearest, ties to even; below 2^-24 / 2 a value becomes a zero of its sign."""

from __future__ import annotations

from typing import Any

import numpy as np
from jaxtyping import Float32, UInt16
from numpy.typing import NDArray

from trlm_lab.quant.narrow_floats import NarrowFloats

Array = NDArray[Any]


def _narrow(values: Float32[Array, "R C"]) -> UInt16[Array, "R C"]:
    with np.errstate(over="ignore", under="ignore"):
        return values.astype("<f2").view("<u2")


F16 = NarrowFloats("f16", 65504.0, _narrow, lambda words: words.view("<f2").astype(np.float32))
