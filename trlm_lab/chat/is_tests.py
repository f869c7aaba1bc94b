"""What follows `is` in a condition."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from trlm_lab.chat.values import Loop, Namespace, Undefined


def _sequence(value: Any) -> bool:
    return hasattr(value, "__len__") and hasattr(value, "__getitem__")


def _iterable(value: Any) -> bool:
    return hasattr(value, "__iter__") and not isinstance(value, (Loop, Namespace))


def _plain(value: Any) -> str:
    if value is None or isinstance(value, (str, int, float, Undefined)):
        return str(value)
    raise TypeError("only texts and numbers have a case")


def _in(value: Any, held: Any) -> bool:
    return value in held


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
    "odd": lambda v: v % 2 == 1,
    "even": lambda v: v % 2 == 0,
    "divisibleby": lambda v, by: v % by == 0,
    "in": _in,
    **dict.fromkeys(("eq", "==", "equalto"), operator.eq),
    **dict.fromkeys(("ne", "!="), operator.ne),
    **dict.fromkeys(("gt", ">", "greaterthan"), operator.gt),
    **dict.fromkeys(("ge", ">="), operator.ge),
    **dict.fromkeys(("lt", "<", "lessthan"), operator.lt),
    **dict.fromkeys(("le", "<="), operator.le),
}
