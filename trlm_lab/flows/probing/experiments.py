"""The experiments of a probe: one dot product each, whose result tells how it was computed.

The operand `x` is the same in all of them: the weights of the last norm, behind hidden values of 1
whose mean square is exactly 1. A row of the head is an experiment, and its logit the answer. That
way every engine that runs a model can be asked, whatever else it exposes.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np
from numpy.typing import NDArray

F32 = NDArray[np.float32]

#: Length of every dot product.
LENGTH: Final = 64
#: Elements with a meaning; the others are random numbers. What shall meet in one accumulator
#: stands 32 apart, since accumulators side by side take turns.
(SUBNORMAL, SMALL, LAST_BIT, FOUR, FACTOR) = range(5)
FOUR_TOO, OTHER_FACTOR = FOUR + 32, FACTOR + 32
_MEANT: Final = {
    SUBNORMAL: 2.0**-130,
    SMALL: 2.0**-100,
    FOUR: 4.0,
    FACTOR: 1 + 2.0**-13,
    OTHER_FACTOR: 1 + 2.0**-9,
    LAST_BIT: 1 + 2.0**-23,
    FOUR_TOO: 4.0,
}

#: Rows of the head, by name; the rows of the order come behind them.
ROWS: Final = (
    "subnormal_operand",
    "subnormal_result",
    "subnormal_weight",
    "negative_zeros",
    "contraction",
    "last_bit",
    "tenth_bit",
    "overflow",
    "invalid",
)
ORDER_ROWS: Final = 16
SEED: Final = 20261130


def operand() -> F32:
    """x, shape (LENGTH,): positive, with one subnormal element."""
    rng = np.random.Generator(np.random.Philox(key=[SEED, 0]))
    x = rng.integers(1 << 23, 1 << 24, LENGTH).astype(np.float32) * np.float32(2.0**-23)
    for index, value in _MEANT.items():
        x[index] = value
    return x


def cancelling_weight() -> np.float32:
    """w such that x[OTHER_FACTOR] * w rounds to x[FACTOR] squared, rounded, and is inexact.

    The sum of one product and the other's negative is then 0 where each is rounded by itself, and
    one rounding error or their difference where not.
    """
    goal = np.float32(_MEANT[FACTOR]) * np.float32(_MEANT[FACTOR])
    return np.float32(float(goal) / _MEANT[OTHER_FACTOR])


def weights() -> F32:
    """The rows of the head, shape (len(ROWS) + ORDER_ROWS, LENGTH)."""
    table = np.zeros((len(ROWS) + ORDER_ROWS, LENGTH), np.float32)
    row = dict(zip(ROWS, table, strict=False))
    row["subnormal_operand"][SUBNORMAL] = 2.0**10
    row["subnormal_result"][SMALL] = 2.0**-40
    row["subnormal_weight"][FOUR] = 2.0**-127
    row["negative_zeros"][:] = -0.0
    row["contraction"][FACTOR] = _MEANT[FACTOR]
    row["contraction"][OTHER_FACTOR] = -cancelling_weight()
    row["last_bit"][LAST_BIT] = 1.0
    row["tenth_bit"][OTHER_FACTOR] = 1.0
    row["overflow"][FOUR] = 2.0**127
    row["invalid"][FOUR], row["invalid"][FOUR_TOO] = 2.0**127, -(2.0**127)
    free = [index for index in range(LENGTH) if index not in _MEANT]
    table[len(ROWS) :, free] = _order_weights(len(free))
    return table


def _order_weights(length: int) -> F32:
    """Random signs, sizes over twelve powers of two: every order of the sum gives other bits."""
    rng = np.random.Generator(np.random.Philox(key=[SEED, 1]))
    shape = (ORDER_ROWS, length)
    significands = rng.integers(-(1 << 24), 1 << 24, shape).astype(np.float32)
    powers = rng.integers(-30, -18, shape)
    scale = np.array([math.ldexp(1.0, p) for p in range(-30, -18)], np.float32)
    return np.asarray(significands * scale[powers + 30], np.float32)
