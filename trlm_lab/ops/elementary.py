"""Pinned elementary functions: the same bits on every engine, from IEEE operations only.

Each float32 function widens to float64, reduces the argument, evaluates a Taylor polynomial by
Horner's rule (one multiply, then one add, never fused) and rounds once to float32. The Rust twin
is `kernels_ref/src/ops/elementary.rs`: same constants, same order. Not promised: correct rounding
of the float64 intermediate; the float32 result is within 1 ULP of the true value.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np
from numpy.typing import NDArray

F32 = NDArray[np.float32]
F64 = NDArray[np.float64]

#: Adding and subtracting 1.5 * 2^52 rounds a float64 below 2^51 to an integer, ties to even.
ROUND_MAGIC: Final = 6755399441055744.0

LOG2_E: Final = float.fromhex("0x1.71547652b82fep+0")
LN2_HI: Final = float.fromhex("0x1.62e42fee00000p-1")
LN2_LO: Final = float.fromhex("0x1.a39ef35793c76p-33")
#: Beyond these the float32 result is 0 or infinity; clamping keeps the exponent in range.
EXP_MIN: Final = -110.0
EXP_MAX: Final = 90.0
#: 1/n! for n = 13 down to 0: the truncation error on |r| <= ln(2)/2 is below 2^-57.
EXP_COEFFICIENTS: Final = tuple(1.0 / math.factorial(n) for n in range(13, -1, -1))

TWO_OVER_PI: Final = float.fromhex("0x1.45f306dc9c883p-1")
#: pi/2 in three parts; the first two have 33 bits, so products with |k| < 2^20 are exact.
HALF_PI: Final = (
    float.fromhex("0x1.921fb54400000p+0"),
    float.fromhex("0x1.0b4611a600000p-34"),
    float.fromhex("0x1.3198a2e037073p-69"),
)
#: sin and cos are pinned for |x| < 2^20; beyond, the result is NaN and the caller reports it.
TRIG_LIMIT: Final = 1048576.0
#: (-1)^n/(2n+1)! for n = 8 down to 0.
SIN_COEFFICIENTS: Final = tuple((-1.0) ** n / math.factorial(2 * n + 1) for n in range(8, -1, -1))
#: (-1)^n/(2n)! for n = 8 down to 0.
COS_COEFFICIENTS: Final = tuple((-1.0) ** n / math.factorial(2 * n) for n in range(8, -1, -1))


def _horner(coefficients: tuple[float, ...], x: F64) -> F64:
    total = np.full_like(x, coefficients[0])
    for coefficient in coefficients[1:]:
        total = total * x
        total = total + coefficient
    return total


def exp_f64(x: F64) -> F64:
    """exp of float64 already clamped to [EXP_MIN, EXP_MAX]; NaN stays NaN."""
    k = (x * LOG2_E + ROUND_MAGIC) - ROUND_MAGIC
    r = x - k * LN2_HI
    r = r - k * LN2_LO
    polynomial = _horner(EXP_COEFFICIENTS, r)
    exponent = np.where(np.isnan(k), 0.0, k).astype(np.int64) + 1023
    return polynomial * (exponent << 52).view(np.float64)


@np.errstate(all="ignore")
def exp(x: F32) -> F32:
    """exp(x), float32 to float32, elementwise; overflow gives +inf, NaN gives NaN."""
    wide = np.clip(np.asarray(x, dtype=np.float64), EXP_MIN, EXP_MAX)
    return exp_f64(wide).astype(np.float32)


def _sin_cos_f64(x: F64) -> tuple[F64, F64]:
    wide = np.where(np.abs(x) < TRIG_LIMIT, x, np.nan)
    k = (wide * TWO_OVER_PI + ROUND_MAGIC) - ROUND_MAGIC
    r = ((wide - k * HALF_PI[0]) - k * HALF_PI[1]) - k * HALF_PI[2]
    square = r * r
    sine = r * _horner(SIN_COEFFICIENTS, square)
    cosine = _horner(COS_COEFFICIENTS, square)
    quadrant = np.where(np.isnan(k), 0.0, k).astype(np.int64) & 3
    swap = (quadrant & 1) == 1
    sin_value = np.where(swap, cosine, sine)
    cos_value = np.where(swap, sine, cosine)
    sin_value = np.where(quadrant >= 2, -sin_value, sin_value)
    cos_value = np.where((quadrant == 1) | (quadrant == 2), -cos_value, cos_value)
    return sin_value, cos_value


@np.errstate(all="ignore")
def sin(x: F32) -> F32:
    """sin(x) for |x| < 2^20, float32 to float32; NaN beyond."""
    return _sin_cos_f64(np.asarray(x, dtype=np.float64))[0].astype(np.float32)


@np.errstate(all="ignore")
def cos(x: F32) -> F32:
    """cos(x) for |x| < 2^20, float32 to float32; NaN beyond."""
    return _sin_cos_f64(np.asarray(x, dtype=np.float64))[1].astype(np.float32)


#: Below this tanh is x - x^3/3: the next term is under 2^-48 of the value.
TANH_SMALL: Final = 0.000244140625  # 2^-12
ONE_THIRD: Final = 1.0 / 3.0


@np.errstate(all="ignore")
def tanh(x: F32) -> F32:
    """tanh(x), float32 to float32, elementwise; saturates at 1, keeps the sign of zero."""
    wide = np.asarray(x, dtype=np.float64)
    size = np.abs(wide)
    decay = exp_f64(np.clip(size * -2.0, EXP_MIN, 0.0))
    large = (1.0 - decay) / (1.0 + decay)
    small_size = np.minimum(size, TANH_SMALL)
    small = small_size - small_size * small_size * small_size * ONE_THIRD
    return np.copysign(np.where(size < TANH_SMALL, small, large), wide).astype(np.float32)


#: From here on erf rounds to 1 in float32.
ERF_LIMIT: Final = 4.0
TWO_OVER_SQRT_PI: Final = float.fromhex("0x1.20dd750429b6dp+0")


def _erf_coefficients(count: int) -> tuple[float, ...]:
    """2^n/(2n+1)!! for n = count-1 down to 0: all positive, so the series cannot cancel."""
    values = [1.0]
    for n in range(1, count):
        values.append(values[-1] * 2.0 / (2 * n + 1))
    return tuple(reversed(values))


#: Abramowitz and Stegun 7.1.6; 56 terms leave less than 2^-40 of the sum at x = 4.
ERF_COEFFICIENTS: Final = _erf_coefficients(56)


@np.errstate(all="ignore")
def erf(x: F32) -> F32:
    """erf(x), float32 to float32, elementwise: (2/sqrt(pi) * x) * (exp(-x^2) * S(x^2))."""
    wide = np.asarray(x, dtype=np.float64)
    size = np.minimum(np.abs(wide), ERF_LIMIT)
    square = size * size
    series = exp_f64(-square) * _horner(ERF_COEFFICIENTS, square)
    return np.copysign((TWO_OVER_SQRT_PI * size) * series, wide).astype(np.float32)


LN2: Final = float.fromhex("0x1.62e42fefa39efp-1")
SQRT_2: Final = float.fromhex("0x1.6a09e667f3bcdp+0")
#: 1/(2n+1) for n = 10 down to 0: atanh series, truncation below 2^-55 on |s| <= 0.1716.
LOG_COEFFICIENTS: Final = tuple(1.0 / (2 * n + 1) for n in range(10, -1, -1))


@np.errstate(all="ignore")
def log(x: F32) -> F32:
    """Natural logarithm, float32 to float32: -inf at either zero, NaN below, inf at inf."""
    wide = np.asarray(x, dtype=np.float64)
    usable = np.where((wide > 0.0) & np.isfinite(wide), wide, 1.0)
    raw = usable.view(np.int64)
    exponent = (raw >> 52) - 1023
    fraction = ((raw & ((1 << 52) - 1)) | (1023 << 52)).view(np.float64)
    upper = fraction > SQRT_2
    fraction = np.where(upper, fraction * 0.5, fraction)
    power = (exponent + upper).astype(np.float64)
    s = (fraction - 1.0) / (fraction + 1.0)
    result = power * LN2 + (2.0 * s) * _horner(LOG_COEFFICIENTS, s * s)
    result = np.where(wide == 0.0, -np.inf, np.where(wide > 0.0, result, np.nan))
    return np.where(wide == np.inf, np.inf, result).astype(np.float32)
