"""Rest for the collector of cyclic garbage while very many objects without cycles are made.

It walks all living objects again and again as their number grows. Measured on two cores: a
verification of 3,004 files took 9.4 s with it and 7.5 s without.
"""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_LOCK = threading.Lock()
_resting = 0
_was_on = False


@contextmanager
def collector_at_rest() -> Iterator[None]:
    """Switch it off, for the process, until the last of those who wished so has ended.

    What is part of a cycle lives that long; everything else goes as always.
    """
    global _resting, _was_on
    with _LOCK:
        if _resting == 0:
            _was_on = gc.isenabled()
            gc.disable()
        _resting += 1
    try:
        yield
    finally:
        with _LOCK:
            _resting -= 1
            if _resting == 0 and _was_on:
                gc.enable()
