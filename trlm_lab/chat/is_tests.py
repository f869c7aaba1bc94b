"""What follows `is` in a condition."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from trlm_lab.chat.budget import Budget
from trlm_lab.chat.lazy import VIEWS
from trlm_lab.chat.lookup import contains
from trlm_lab.chat.values import Loop, Namespace, Undefined
from trlm_lab.errors import TemplateUnsupportedError


def _sequence(value: Any) -> bool:
    return hasattr(value, "__len__") and hasattr(value, "__getitem__")


def _iterable(value: Any) -> bool:
    return hasattr(value, "__iter__") and not isinstance(value, (Loop, Namespace))


def _plain(value: Any) -> str:
    if value is None or isinstance(value, (str, int, float, Undefined)):
        return str(value)
    raise TypeError("only texts and numbers have a case")


def _modulo(value: Any, by: Any) -> Any:
    if isinstance(value, str):
        raise TemplateUnsupportedError(construct="% on a text")
    if isinstance(value, VIEWS) or isinstance(by, VIEWS):
        raise TemplateUnsupportedError(construct="arithmetic on a view of an object")
    return value % by


def run_test(name: str, value: Any, args: list[Any], b: Budget) -> Any:
    """`value is name(args)`, weighed before it runs."""
    if args:
        weigh_compared(name, value, args[0], b)
    return TESTS[name](value, *args)


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


TESTS: dict[str, Callable[..., Any]] = {
    "boolean": lambda v: v is True or v is False,
    "defined": lambda v: not isinstance(v, Undefined),
    "undefined": lambda v: isinstance(v, Undefined),
    "none": lambda v: v is None,
    "true": lambda v: v is True,
    "false": lambda v: v is False,
    "integer": lambda v: isinstance(v, int) and not isinstance(v, bool),
    "float": lambda v: isinstance(v, float),
    "number": lambda v: isinstance(v, (int, float)),
    "string": lambda v: isinstance(v, str),
    "mapping": lambda v: isinstance(v, dict),
    "sequence": _sequence,
    "iterable": _iterable,
    "lower": lambda v: _plain(v).islower(),
    "upper": lambda v: _plain(v).isupper(),
    "odd": lambda v: _modulo(v, 2) == 1,
    "even": lambda v: _modulo(v, 2) == 0,
    "divisibleby": lambda v, by: _modulo(v, by) == 0,
    "in": contains,
    **dict.fromkeys(("eq", "==", "equalto"), operator.eq),
    **dict.fromkeys(("ne", "!="), operator.ne),
    **dict.fromkeys(("gt", ">", "greaterthan"), operator.gt),
    **dict.fromkeys(("ge", ">="), operator.ge),
    **dict.fromkeys(("lt", "<", "lessthan"), operator.lt),
    **dict.fromkeys(("le", "<="), operator.le),
}
