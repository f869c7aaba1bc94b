"""The located refusal of a NaN or infinity at an operator's boundary."""

from __future__ import annotations

import numpy as np

from trlm_lab.base.bits import first_nonfinite
from trlm_lab.errors import NonFiniteError
from trlm_lab.ops.arithmetic import Array


def require_finite(values: Array, where: str) -> None:
    """Raise NonFiniteError with the first failing index and its bits, most significant first."""
    flat = first_nonfinite(values)
    if flat is None:
        return
    index = tuple(int(i) for i in np.unravel_index(flat, values.shape))
    big_endian = values.dtype.newbyteorder(">")
    bits = np.asarray(values.reshape(-1)[flat], dtype=big_endian).tobytes().hex()
    raise NonFiniteError(where=where, index=index, bits=bits)
