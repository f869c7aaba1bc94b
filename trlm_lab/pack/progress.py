"""How long work reports itself: a callback, so that this room draws nothing."""

from __future__ import annotations

from collections.abc import Callable

#: Called with what is being done, the units done, and all units.
Progress = Callable[[str, int, int], None]


def silent(what: str, done: int, total: int) -> None:
    """Report nothing."""
