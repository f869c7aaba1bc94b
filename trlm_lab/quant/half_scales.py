"""Scales in IEEE binary16: how a group's scale is chosen, and which stored scales are refused."""

from __future__ import annotations

from typing import Any, Final, NoReturn

import numpy as np
from jaxtyping import Float16, Float32, UInt16
from numpy.typing import NDArray

from trlm_lab.errors import QuantOverflowError, QuantScaleError

Array = NDArray[Any]

HALF_MAX: Final = 65504.0
#: The smallest normal binary16 number; a smaller positive scale is raised to it.
HALF_TINY: Final = np.float16(2.0**-14)

_SIGN, _EXPONENT, _MANTISSA = 0x8000, 0x7C00, 0x03FF


def half_scales(
    absmax: Float32[Array, "R G"], q: int, *, where: str, first_row: int
) -> Float16[Array, "R G"]:
    """binary16(absmax / q) to nearest even, per group; `absmax` is finite, shape (rows, groups).

    The quotient is first rounded to float32. Rounding twice gives the same number as rounding the
    exact quotient once: a float32 `absmax` over an integer below 2^7 cannot come closer to a
    binary16 midpoint, without being on it, than half a float32 step.

    Raises:
        QuantOverflowError: a scale beyond 65504.
    """
    with np.errstate(over="ignore", under="ignore"):
        quotient = absmax / np.float32(q)
        scales = quotient.astype(np.float16)
    if np.isinf(scales).any():
        row, group = (int(i) for i in np.argwhere(np.isinf(scales))[0])
        raise QuantOverflowError(
            where=where,
            tensor=where,
            row=first_row + row,
            group=group,
            value=float(quotient[row, group]),
            limit=HALF_MAX,
        )
    scales[(absmax > 0) & (scales < HALF_TINY)] = HALF_TINY
    return scales


def check_half_scales(bits: UInt16[Array, "R G"], *, where: str, first_row: int) -> None:
    """Refuse scales that no writer produces; `bits` are binary16 words, shape (rows, groups).

    Raises:
        QuantScaleError: negative, -0.0, subnormal, infinite or NaN.
    """
    exponent = bits & _EXPONENT
    for why, bad in (
        ("negative", (bits & _SIGN) != 0),
        ("not finite", exponent == _EXPONENT),
        ("subnormal", (exponent == 0) & ((bits & _MANTISSA) != 0)),
    ):
        if bad.any():
            row, group = (int(i) for i in np.argwhere(bad)[0])
            refuse_scale(int(bits[row, group]), first_row + row, group, why, where)


def refuse_scale(bits: int, row: int, group: int, why: str, where: str) -> NoReturn:
    """Raise QuantScaleError for one scale."""
    value = float(np.uint16(bits).view(np.float16))
    raise QuantScaleError(
        where=where, row=row, group=group, value=value, bits=f"{bits:04x}", why=why
    )
