"""Sums of a vector in a named order: the order is what an evaluation profile must name."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from jaxtyping import Float

from trlm_lab.errors import UnknownNameError
from trlm_lab.ops.arithmetic import Arithmetic, Array
from trlm_lab.ops.reduction import ordered_sum

#: Accumulators by order; `profile` takes those of the profile.
LANES = {"ascending": 1, "lanes2": 2, "lanes16": 16}
ORDERS = ("profile", *LANES, "neighbours", "exact")


def _neighbours(x: Float[Array, " N"]) -> Float[Array, " 1"]:
    """Add neighbours, then neighbours of those sums; an odd one out waits for the next round."""
    while len(x) > 1:
        even = len(x) // 2 * 2
        x = np.concatenate([x[0:even:2] + x[1:even:2], x[even:]])
    return x


@np.errstate(all="ignore")
def summation(x: Float[Array, " N"], order: str, arithmetic: Arithmetic) -> Float[Array, ""]:
    """The sum of `x` in the profile's type; `exact` rounds once.

    Raises:
        UnknownNameError: `order` is none of ORDERS.
    """
    x = arithmetic.array(x)
    total: Any
    if order == "exact":
        total = math.fsum(x.tolist())
    elif order == "neighbours":
        total = _neighbours(x)[0]
    elif order == "profile":
        total = ordered_sum(x[:, None], arithmetic)[0]
    elif order in LANES:
        total = ordered_sum(x[:, None], Arithmetic(order, arithmetic.dtype, LANES[order]))[0]
    else:
        raise UnknownNameError(
            where="sum: order", kind="order of a sum", name=order, known=", ".join(ORDERS)
        )
    return np.asarray(total, dtype=arithmetic.dtype)
