"""The words in which an operation is refused: one table for every renderer (docs/templates.md).

Python's own words differ between its versions and are no other renderer's, so none is passed on.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from trlm_lab.chat.lazy import VIEWS
from trlm_lab.chat.values import Undefined
from trlm_lab.errors import TemplateEvaluationError

#: Characters of a key that the words repeat.
_SPELLED = 60


def kind(value: Any) -> str:
    """What a value is called."""
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, VIEWS):
        return "view"
    plain = (str, int, float, list, tuple, dict)
    return next((one.__name__ for one in plain if isinstance(value, one)), type(value).__name__)


def spelled(key: Any) -> str:
    """How a key is written: texts and numbers as they are, others by their kind."""
    if isinstance(key, str):
        return repr(str(key)[:_SPELLED])
    if key is None or isinstance(key, (int, float)):
        return repr(key)
    return kind(key)


def refused(detail: str) -> TemplateEvaluationError:
    """An operation that the source's own renderer refuses too."""
    return TemplateEvaluationError(detail=detail)


def ill_typed(what: str, *values: Any) -> TemplateEvaluationError:
    """Values of types that an operation does not take."""
    return refused(f"TypeError: {what} of {' and '.join(map(kind, values))}")


def iterated(value: Any) -> Iterator[Any]:
    """The items of a value.

    Raises:
        TemplateEvaluationError: it has none.
    """
    try:
        return iter(value)
    except TypeError as error:
        raise ill_typed("a walk", value) from error


def hashed(key: Any) -> Any:
    """A key that can be looked up.

    Raises:
        TemplateEvaluationError: a list or an object is, or is part of, the key.
    """
    try:
        hash(key)
    except TypeError as error:
        raise ill_typed("a key", key) from error
    return key


def unordered(left: Any, right: Any) -> TemplateEvaluationError:
    """Two values without an order; of lists, the first items that differ."""
    for sort in (list, tuple):
        if isinstance(left, sort) and isinstance(right, sort):
            pair = next(((a, b) for a, b in zip(left, right, strict=False) if a != b), None)
            return ill_typed("an order", left, right) if pair is None else unordered(*pair)
    for side in (left, right):
        if isinstance(side, Undefined):
            return refused(side.what)
    return ill_typed("an order", left, right)
