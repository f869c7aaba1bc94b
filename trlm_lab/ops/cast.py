"""Rounding to a narrower float format and back: nearest, ties to even; subnormals are kept."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

from trlm_lab.base.bits import round_to_bf16
from trlm_lab.errors import UnknownNameError
from trlm_lab.ops.arithmetic import Array

FORMATS = ("f32", "f16", "bf16")


def cast(x: Float[Array, "*N"], dtype: str) -> Float[Array, "*N"]:
    """float32 values of `x` rounded to `dtype`, widened back to float32.

    A finite value beyond the format's range becomes an infinity, as IEEE 754 rounds.

    Raises:
        UnknownNameError: `dtype` is not one of FORMATS.
    """
    single = np.asarray(x, dtype=np.float32)
    if dtype == "f32":
        return single
    if dtype == "bf16":
        return round_to_bf16(single)
    if dtype == "f16":
        with np.errstate(over="ignore", under="ignore"):
            return single.astype(np.float16).astype(np.float32)
    raise UnknownNameError(
        where="cast: dtype", kind="float format", name=dtype, known=", ".join(FORMATS)
    )
