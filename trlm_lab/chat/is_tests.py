"""What follows `is` in a condition."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from trlm_lab.chat.arithmetic import arithmetic
from trlm_lab.chat.budget import Budget
from trlm_lab.chat.compare import COMPARED, weigh_compared
from trlm_lab.chat.refusals import ill_typed, refused
from trlm_lab.chat.values import Loop, Namespace, Undefined


def _sequence(value: Any) -> bool:
    return hasattr(value, "__len__") and hasattr(value, "__getitem__")


def _iterable(value: Any) -> bool:
    return hasattr(value, "__iter__") and not isinstance(value, (Loop, Namespace))


def _plain(value: Any) -> str:
    if value is None or isinstance(value, (str, int, float, Undefined)):
        return str(value)
    raise ill_typed("the case", value)


def run_test(name: str, value: Any, args: list[Any], b: Budget) -> Any:
    """`value is name(args)`, weighed before it runs.

    Raises:
        TemplateEvaluationError: no such test, or other arguments than it takes.
    """
    if args:
        weigh_compared(name, value, args[0], b)
    compared, plain = _COMPARISONS.get(name), _PLAIN.get(name)
    if compared is not None and len(args) == 1:
        return compared(value, args[0])
    if name in _DIVIDED and len(args) == int(name == "divisibleby"):
        by, rest = _DIVIDED[name]
        return arithmetic("%", value, args[0] if args else by, b) == rest
    if plain is not None and not args:
        return plain(value)
    if compared is None and plain is None and name not in _DIVIDED:
        raise refused(f"KeyError: {name!r}")
    raise refused(f"TypeError: the arguments of the test {name!r}")


#: What the value is divided by, and the rest.
_DIVIDED = {"odd": (2, 1), "even": (2, 0), "divisibleby": (0, 0)}

_PLAIN: dict[str, Callable[[Any], Any]] = {
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
}
_COMPARISONS: dict[str, Callable[[Any, Any], Any]] = {
    "in": COMPARED["in"],
    **dict.fromkeys(("eq", "==", "equalto"), COMPARED["eq"]),
    **dict.fromkeys(("ne", "!="), COMPARED["ne"]),
    **dict.fromkeys(("gt", ">", "greaterthan"), COMPARED["gt"]),
    **dict.fromkeys(("ge", ">="), COMPARED["gteq"]),
    **dict.fromkeys(("lt", "<", "lessthan"), COMPARED["lt"]),
    **dict.fromkeys(("le", "<="), COMPARED["lteq"]),
}
