"""Tables of true values for the judge: each the float64 nearest to a number of 60 digits."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import mpmath
import numpy as np

#: Digits of every number before it is rounded.
DIGITS: Final = 60
#: Degree of the Taylor polynomials of erf; cells of 1/64 from 0 to 4.
ERF_DEGREE: Final = 9
ERF_CELLS: Final = 257
#: pi/2 is an integer in units of 2^-104.
FRACTION: Final = 104


def tables() -> bytes:
    """What the judge reads before all else: float64, little-endian, then a 128-bit integer."""
    with mpmath.workdps(DIGITS):
        numbers = [float(value) for value in _numbers()]
        half_pi = int(mpmath.nint(mpmath.pi / 2 * mpmath.mpf(2) ** FRACTION))
    return np.array(numbers, "<f8").tobytes() + half_pi.to_bytes(16, "little")


def _numbers() -> Iterator[mpmath.mpf]:
    yield from (mpmath.exp(k) for k in range(-128, 128))
    yield from (mpmath.exp(mpmath.mpf(j) / 256) for j in range(256))
    yield from (mpmath.expm1(mpmath.mpf(n) / 128) for n in range(5121))
    yield from (mpmath.exp(mpmath.mpf(n) / 128) for n in range(5121))
    for n in range(ERF_CELLS):
        yield from _erf_taylor(mpmath.mpf(n) / 64)
    inverses = [mpmath.nint(mpmath.mpf(128 * 512) / j) / 512 for j in range(90, 182)]
    yield from inverses
    yield from (-mpmath.log(inverse) for inverse in inverses)
    high = mpmath.floor(mpmath.log(2) * 2**33) / 2**33
    yield from (high, mpmath.log(2) - high, 2 / mpmath.sqrt(mpmath.pi))


def _erf_taylor(at: mpmath.mpf) -> Iterator[mpmath.mpf]:
    """erf^(i)(c) / i!: (2/sqrt(pi)) (-1)^(i-1) H_(i-1)(c) exp(-c^2) / i! from i = 1 on."""
    yield mpmath.erf(at)
    slope = 2 / mpmath.sqrt(mpmath.pi) * mpmath.exp(-at * at)
    before, hermite = mpmath.mpf(0), mpmath.mpf(1)
    for i in range(1, ERF_DEGREE + 1):
        yield (-1) ** (i - 1) * slope * hermite / mpmath.factorial(i)
        before, hermite = hermite, 2 * at * hermite - 2 * (i - 1) * before
