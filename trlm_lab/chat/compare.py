"""Equality, order and membership, weighed before values are compared part by part."""

from __future__ import annotations

import operator
from collections.abc import Callable, ItemsView, KeysView
from typing import Any

from trlm_lab.chat.budget import Budget
from trlm_lab.chat.lazy import VIEWS
from trlm_lab.chat.lookup import key_of
from trlm_lab.chat.refusals import hashed, ill_typed, unordered
from trlm_lab.errors import TemplateUnsupportedError


def weigh_compared(op: str, left: Any, right: Any, b: Budget) -> None:
    """Before two values are compared part by part.

    Raises:
        TemplateUnsupportedError: a view of an object, which the source compares as a set.
        TemplateLimitError: beyond the steps.
    """
    for side in (left, right):
        if isinstance(side, (str, list, tuple, dict)):
            b.weigh(side)
    searched = op in ("in", "notin")
    if isinstance(left, VIEWS) or (isinstance(right, VIEWS) and not searched):
        raise TemplateUnsupportedError(construct="a comparison of a view of an object")


def _ordered(compare: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    def compared(left: Any, right: Any) -> Any:
        try:
            return compare(left, right)
        except TypeError as error:
            raise unordered(left, right) from error

    return compared


def contains(value: Any, held: Any) -> bool:
    """`value in held`."""
    if isinstance(held, (dict, KeysView)):
        hashed(key_of(value))
    elif isinstance(held, ItemsView) and isinstance(value, tuple) and len(value) == 2:
        hashed(key_of(value[0]))
    try:
        return value in held
    except TypeError as error:
        raise ill_typed("a search", held) from error


COMPARED: dict[str, Callable[[Any, Any], Any]] = {
    "eq": operator.eq,
    "ne": operator.ne,
    "gt": _ordered(operator.gt),
    "gteq": _ordered(operator.ge),
    "lt": _ordered(operator.lt),
    "lteq": _ordered(operator.le),
    "in": contains,
    "notin": lambda a, b: not contains(a, b),
}
