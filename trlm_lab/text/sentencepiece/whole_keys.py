"""Whether every key of a compiled table of characters ends where a character ends.

Only keys that a text can have are looked at: those that go through well-formed UTF-8.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Places = NDArray[np.uint32]

_LABEL, _LEAF, _FAR = np.uint32((1 << 31) | 0xFF), np.uint32(1 << 8), np.uint32(1 << 9)
#: First and last byte, and the state that follows, by state; 0 is between two characters, the
#: others are named by the bytes that may follow (Unicode Standard, table 3-7).
_TAIL, _TWO, _THREE, _AFTER_E0, _AFTER_ED, _AFTER_F0, _AFTER_F4 = range(1, 8)
_STEPS: tuple[tuple[tuple[int, int, int], ...], ...] = (
    (
        (0x01, 0x7F, 0), (0xC2, 0xDF, _TAIL), (0xE0, 0xE0, _AFTER_E0), (0xE1, 0xEC, _TWO),
        (0xED, 0xED, _AFTER_ED), (0xEE, 0xEF, _TWO), (0xF0, 0xF0, _AFTER_F0),
        (0xF1, 0xF3, _THREE), (0xF4, 0xF4, _AFTER_F4),
    ),
    ((0x80, 0xBF, 0),),
    ((0x80, 0xBF, _TAIL),),
    ((0x80, 0xBF, _TWO),),
    ((0xA0, 0xBF, _TAIL),),
    ((0x80, 0x9F, _TAIL),),
    ((0x90, 0xBF, _TWO),),
    ((0x80, 0x8F, _TWO),),
)  # fmt: skip


def has_whole_keys(units: Sequence[int]) -> bool:
    """Walk from the root to every place that a text can reach, each once in each state."""
    table = np.array(units, np.uint32)
    seen = np.zeros((len(_STEPS), len(table)), bool)
    # The root alone may lie outside of the table, whose units then begin a block of labels.
    waiting = [(0, _offsets(table[:1]))]
    while waiting:
        state, places = waiting.pop()
        for first, last, following in _STEPS[state]:
            ends, found = _step(table, places, np.arange(first, last + 1, dtype=np.uint32))
            if following and np.any(found & _LEAF):
                return False
            ends = np.unique(ends[~seen[following, ends]])
            if len(ends):
                seen[following, ends] = True
                waiting.append((following, ends))
    return True


def _step(table: Places, places: Places, labels: Places) -> tuple[Places, Places]:
    """Where the labels lead from some places, and the units gone past."""
    at = (places[:, None] ^ labels).ravel()
    inside = at < len(table)
    at, wanted = at[inside], np.tile(labels, len(places))[inside]
    units = table[at]
    known = units & _LABEL == wanted
    at, units = at[known], units[known]
    ends = at ^ _offsets(units)
    inside = ends < len(table)
    return ends[inside], units[inside]


def _offsets(units: Places) -> Places:
    return (units >> np.uint32(10)) << ((units & _FAR) >> np.uint32(6))
