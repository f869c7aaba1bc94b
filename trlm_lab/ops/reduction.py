"""Sums in a pinned order: lanes, ascending within a lane, merged pairwise, nothing fused.

Each term is added to its lane by one IEEE addition and each product is rounded before it is added.
Vectorisation runs over the outputs, one rank-1 update an input index, so it cannot reorder a sum.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from trlm_lab.ops.arithmetic import Arithmetic, Array

#: NumPy copies broadcast operands into buffers of this many elements when rows are shorter; with a
#: small buffer it walks the rows directly, which is twice as fast and computes the same products.
UFUNC_BUFFER = 256


@contextmanager
def unbuffered_broadcasting() -> Iterator[None]:
    """Let the ufuncs of this thread walk broadcast operands without copying them first."""
    before = np.setbufsize(UFUNC_BUFFER)
    try:
        yield
    finally:
        np.setbufsize(before)


@np.errstate(all="ignore")
def merge_lanes(partial: Array) -> Array:
    """Merge lanes along axis 0: (l, l+8), (l, l+4), (l, l+2), (l, l+1) for sixteen; in place."""
    width = len(partial)
    while width > 1:
        width //= 2
        partial[:width] += partial[width : 2 * width]
    total: Array = partial[0]
    return total


@np.errstate(all="ignore")
def ordered_sum(terms: Array, arithmetic: Arithmetic) -> Array:
    """Sum over axis 0 in the profile's order; accumulators start at +0.0."""
    if arithmetic.lanes is None:
        return np.asarray(terms.sum(axis=0, dtype=terms.dtype))
    partial = np.zeros((arithmetic.lanes, *terms.shape[1:]), dtype=terms.dtype)
    for start in range(0, len(terms), arithmetic.lanes):
        chunk = terms[start : start + arithmetic.lanes]
        partial[: len(chunk)] += chunk
    return merge_lanes(partial)


@np.errstate(all="ignore")
def sum_of_products(left: Array, right: Array, arithmetic: Arithmetic) -> Array:
    """Sum over axis 0 of left * right, the other axes broadcast; (N, ...) and (N, ...) to (...)."""
    if arithmetic.lanes is None:
        return np.asarray(np.einsum("n...,n...->...", left, right))
    count, lanes = len(left), arithmetic.lanes
    shape = np.broadcast_shapes(left.shape[1:], right.shape[1:])
    partial = np.zeros((lanes, *shape), dtype=left.dtype)
    product = np.empty(shape, dtype=left.dtype)
    with unbuffered_broadcasting():
        for lane in range(min(lanes, count)):
            total = partial[lane, ...]
            for index in range(lane, count, lanes):
                np.multiply(left[index], right[index], out=product)
                np.add(total, product, out=total)
    return merge_lanes(partial)
