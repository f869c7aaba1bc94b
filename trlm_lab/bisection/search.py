"""Binary search for the first failing checkpoint of one case: over layers, then inside one.

The search takes for granted that what is wrong stays wrong. That holds for most faults and not for
all, so its answer is only a guess that the sweep in `find` proves or corrects.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import groupby

from trlm_lab.base.names import parse_checkpoint
from trlm_lab.bisection.dataflow import segment

#: Residual checkpoints of a layer, the most telling first.
RESIDUALS = ("output", "attn_residual", "input")


def first_true(length: int, holds: Callable[[int], bool]) -> int | None:
    """The first i at which a monotone predicate holds, or None; asks about log2(length) times."""
    if length == 0 or not holds(length - 1):
        return None
    low, high = 0, length - 1
    while low < high:
        middle = (low + high) // 2
        if holds(middle):
            high = middle
        else:
            low = middle + 1
    return low


def marker(names: Sequence[str]) -> str:
    """The checkpoint that stands for a layer: its last residual, else its last checkpoint."""
    by_op = {parse_checkpoint(name).op: name for name in names}
    return next((by_op[op] for op in RESIDUALS if op in by_op), names[-1])


def bisect_case(names: Sequence[str], fails: Callable[[str], bool]) -> str | None:
    """A failing checkpoint with a sound one before it, by the search; None where the end is sound.

    `names` are the exposed checkpoints in ladder order. First the markers of the embedding, of
    each layer and of the tail are searched, then the checkpoints between the last sound marker
    and the first failing one.
    """
    markers = [marker(list(group)) for _, group in groupby(names, key=segment)]
    found = first_true(len(markers), lambda i: fails(markers[i]))
    if found is None:
        return None
    start = names.index(markers[found - 1]) + 1 if found else 0
    inside = names[start : names.index(markers[found]) + 1]
    place = first_true(len(inside), lambda i: fails(inside[i]))
    return None if place is None else inside[place]
