"""True values of the elementary functions, and the float32 nearest to one: rounded once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import mpmath
import numpy as np

#: Digits of a true value: enough for any float32 input that is not a tie.
DIGITS: Final = 100


TRUE: Final[dict[str, Callable[[mpmath.mpf], mpmath.mpf]]] = {
    "exp": mpmath.exp,
    "sin": mpmath.sin,
    "cos": mpmath.cos,
    "tanh": mpmath.tanh,
    "erf": mpmath.erf,
    "log": mpmath.log,
    "rsqrt": lambda x: 1 / mpmath.sqrt(x),
}


def true_value(function: str, bits: int) -> mpmath.mpf:
    """The function at the float32 of a bit pattern, to DIGITS digits."""
    with mpmath.workdps(DIGITS):
        return TRUE[function](mpmath.mpf(float(np.uint32(bits).view(np.float32))))


def nearest_float32(value: mpmath.mpf) -> np.float32:
    """Rounded once, ties to even, subnormals and overflow included.

    By way of float64 a value within 2^-53 of the middle of two float32 would be rounded twice.
    """
    with mpmath.workdps(DIGITS):
        if value == 0:
            return np.float32(0.0)
        power = max(int(mpmath.floor(mpmath.log(abs(value), 2))) - 23, -149)
        steps = int(mpmath.nint(mpmath.ldexp(value, -power)))
    with np.errstate(over="ignore"):
        # At most 24 bits, or 2^24: exact in float64, and the cast only meets overflow.
        return np.float32(float(steps) * 2.0**power) if power < 900 else np.float32(np.inf)


def units_off(function: str, bits: int, got: int) -> int:
    """Float32 steps between the result `got` and the float32 nearest to the true value."""
    nearest = int(nearest_float32(true_value(function, bits)).view(np.uint32))
    return abs(_ordered(got) - _ordered(nearest))


def _ordered(bits: int) -> int:
    return bits if bits < 1 << 31 else (1 << 31) - bits
