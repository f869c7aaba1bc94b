"""Elementary functions chosen by element type.

float32 takes the pinned algorithms of `elementary`, so that every engine has the same bits; float64
(diagnostic) takes the platform's library and promises no bits.
"""

from __future__ import annotations

import math

import numpy as np

from trlm_lab.ops import elementary
from trlm_lab.ops.arithmetic import Array

#: The functions of this module, by the names of the operators.
FUNCTIONS = ("exp", "log", "sin", "cos", "tanh", "erf")

_erf_f64 = np.frompyfunc(math.erf, 1, 1)


def _is_f32(x: Array) -> bool:
    return x.dtype == np.dtype(np.float32)


def exp(x: Array) -> Array:
    """exp(x)."""
    if _is_f32(x):
        return elementary.exp(x)
    with np.errstate(over="ignore", under="ignore"):
        return np.asarray(np.exp(x))


def tanh(x: Array) -> Array:
    """tanh(x)."""
    return elementary.tanh(x) if _is_f32(x) else np.asarray(np.tanh(x))


def erf(x: Array) -> Array:
    """erf(x)."""
    return elementary.erf(x) if _is_f32(x) else np.asarray(_erf_f64(x), dtype=x.dtype)


def sin(x: Array) -> Array:
    """sin(x)."""
    return elementary.sin(x) if _is_f32(x) else np.asarray(np.sin(x))


def cos(x: Array) -> Array:
    """cos(x)."""
    return elementary.cos(x) if _is_f32(x) else np.asarray(np.cos(x))


def log(x: Array) -> Array:
    """Natural logarithm of x."""
    if _is_f32(x):
        return elementary.log(x)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.log(x))
