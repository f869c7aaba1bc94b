"""q8 keys and values: a vector a (layer, position, kv_head), int8 codes with one binary16 scale.

    scale = binary16(absmax / 127)    code = clamp(round_ties_even(x / float32(scale)), -127, 127)
    x'    = float32(code) * float32(scale)      one rounding

The rules are those of q8_r128 with the whole vector as its group, without padding. A vector of
zeros has scale 0 and codes 0. Keys are stored after rotation. A vector of E numbers takes E + 2
bytes: at E = 64 that is 32/8.25 times less than float32.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from jaxtyping import Float16, Float32, Int8
from numpy.typing import NDArray

from trlm_lab.errors import QuantCodeError, QuantNonFiniteError, ShapeMismatchError
from trlm_lab.quant.clipping import codes_of
from trlm_lab.quant.grouped import HALF
from trlm_lab.quant.scale_words import refuse_scale

Array = NDArray[Any]

Q: Final = 127


def quantize_kv(
    vectors: Float32[Array, "*N E"], *, where: str = ""
) -> tuple[Int8[Array, "*N E"], Float16[Array, " *N"]]:
    """Codes and scales of vectors along the last axis; rows in errors count the vectors.

    Raises:
        QuantNonFiniteError: a NaN or infinity.
        QuantOverflowError: a vector whose scale is above 65504.
    """
    rows = vectors.reshape(-1, vectors.shape[-1])
    if not np.isfinite(rows).all():
        row, col = (int(i) for i in np.argwhere(~np.isfinite(rows))[0])
        raise QuantNonFiniteError(
            where=where, tensor=where, value=rows[row, col], row=row, column=col
        )
    absmax = np.abs(rows).max(axis=1, keepdims=True)
    words = HALF.choose(absmax, Q, where=where, first_row=0)
    codes = codes_of(rows[:, None, :], HALF.values(words), Q).astype(np.int8)
    return codes.reshape(vectors.shape), words.view("<f2").reshape(vectors.shape[:-1])


def dequantize_kv(
    codes: Int8[Array, "*N E"], scales: Float16[Array, " *M"], *, where: str = ""
) -> Float32[Array, "*N E"]:
    """float32(code) * float32(scale).

    Raises:
        ShapeMismatchError: not one scale a vector.
        QuantCodeError: the code -128.
        QuantScaleError: a negative, -0.0, subnormal or non-finite scale, or 0 with a code.
    """
    if scales.shape != codes.shape[:-1]:
        wanted = codes.shape[:-1]
        raise ShapeMismatchError(where=where, name="scales", got=scales.shape, expected=wanted)
    rows = codes.reshape(-1, codes.shape[-1])
    if rows.min(initial=0) < -Q:
        row, col = (int(i) for i in np.argwhere(rows < -Q)[0])
        raise QuantCodeError(where=where, row=row, column=col, value=-128, why=f"below {-Q}")
    words = np.ascontiguousarray(scales).view("<u2").reshape(-1, 1)
    HALF.check(words, Q, where=where, first_row=0)
    factors = HALF.values(words)
    lost = (factors == 0) & rows.any(axis=1, keepdims=True)
    if lost.any():
        at = int(np.argmax(lost)), 0
        refuse_scale(words, factors, at, "0 with a nonzero code", where=where, first_row=0)
    values: Float32[Array, "*N E"] = rows.astype(np.float32) * factors
    return values.reshape(codes.shape)
