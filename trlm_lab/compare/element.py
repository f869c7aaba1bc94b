"""The first element at which two engines of one exact profile part, where their arrays are at hand.

Digests say that two arrays differ and not where. Of an array that was kept by both engines this
reads the one that `ExactTable.partings` names.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trlm_lab.base.interfaces import TraceView
from trlm_lab.compare.exact import Parting


@dataclass(frozen=True)
class Element:
    """The first differing element in C order, its bits in the first and in the other engine.

    `count` is the number of elements that differ, of `size`.
    """

    index: tuple[int, ...]
    bits: tuple[str, str]
    count: int
    size: int


def first_element(parting: Parting, first: TraceView, other: TraceView) -> Element | None:
    """None where a trace lacks the array, or dtype or shape differ: then there is no such element.

    `first` and `other` are the traces of `parting.engines`.
    """
    for trace in (first, other):
        if parting.case_id not in trace.case_ids() or parting.name not in trace.names(
            parting.case_id
        ):
            return None
    ours, theirs = (trace.read(parting.case_id, parting.name) for trace in (first, other))
    if ours.dtype != theirs.dtype or ours.shape != theirs.shape:
        return None
    words = f"u{ours.dtype.itemsize}"
    left, right = (np.ascontiguousarray(a).view(words) for a in (ours, theirs))
    differing = left != right
    if not differing.any():
        return None
    index = tuple(int(i) for i in np.argwhere(differing)[0])
    digits = 2 * ours.dtype.itemsize
    bits = f"{int(left[index]):0{digits}x}", f"{int(right[index]):0{digits}x}"
    return Element(index, bits, int(np.count_nonzero(differing)), int(ours.size))
