"""Sequences that give their items one by one, and how deep values may lie within values."""

from __future__ import annotations

from collections.abc import ItemsView, Iterator, KeysView, ValuesView
from typing import Any

from trlm_lab.chat import limits
from trlm_lab.errors import TemplateLimitError

VIEWS = (KeysView, ValuesView, ItemsView)


class Lazy:
    """What `map`, `select` and the like give: true, without length, walked once.

    `sources` are the values that it holds until it is walked.
    """

    __slots__ = ("made", "sources")

    def __init__(self, made: Iterator[Any], sources: tuple[Any, ...]) -> None:
        self.made = made
        self.sources = sources

    def __iter__(self) -> Iterator[Any]:
        return self.made


def bound_depth(value: Any) -> None:
    """Refuse what lies in itself too deep, before a name holds it and something deeper is built.

    Raises:
        TemplateLimitError: deeper than `limits.MAX_VALUE_DEPTH`.
    """
    if isinstance(value, (list, tuple, dict, Lazy, *VIEWS)):
        _depth(value, limits.MAX_VALUE_DEPTH, {})


def depth_of(value: Any) -> int:
    """How many lists and objects lie within each other, at most twice what a name may hold."""
    return _depth(value, 2 * limits.MAX_VALUE_DEPTH + limits.MAX_NODE_DEPTH, {})


def _depth(value: Any, room: int, known: dict[int, int]) -> int:
    parts = _parts(value)
    if parts is None:
        return 0
    # Shared parts are visited once; `value` keeps them alive, so that no identity is used twice.
    found = known.get(id(value))
    if found is None and room > 0:
        found = 1 + max((_depth(part, room - 1, known) for part in parts), default=0)
        known[id(value)] = found
    if found is None or found > room:
        raise TemplateLimitError(what="depth of a value", got="more", limit=limits.MAX_VALUE_DEPTH)
    return found


def _parts(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return value
    if isinstance(value, dict):
        return (*value.keys(), *value.values())
    if isinstance(value, VIEWS):
        mapping: Any = value.mapping  # type: ignore[union-attr]
        return (*mapping.keys(), *mapping.values())
    return value.sources if isinstance(value, Lazy) else None
