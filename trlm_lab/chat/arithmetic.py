"""Arithmetic of templates, with results that stay within the bounds."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from trlm_lab.chat import limits
from trlm_lab.chat.budget import Budget
from trlm_lab.chat.lazy import VIEWS
from trlm_lab.chat.owned_text import SafeText
from trlm_lab.chat.refusals import ill_typed, refused
from trlm_lab.chat.values import Undefined
from trlm_lab.errors import TemplateUnsupportedError


def add_up(left: Any, right: Any, budget: Budget) -> Any:
    """`left + right`: numbers, texts, lists."""
    if isinstance(left, (list, tuple)) and isinstance(right, (list, tuple)):
        budget.charge(len(left) + len(right))
    if isinstance(left, str) and isinstance(right, str):
        budget.text(len(left) + 5 * len(right))
    made = _operated(operator.add, left, right)
    return budget.integer(made) if isinstance(made, int) else made


def arithmetic(op: str, left: Any, right: Any, budget: Budget) -> Any:
    """- * / // % ** with bounded results.

    Raises:
        TemplateEvaluationError: values of other types, or a division by zero.
        TemplateUnsupportedError: `%` on a text, which is Python's printf.
        TemplateLimitError: a result beyond the bounds.
    """
    if op == "%" and isinstance(left, str):
        raise TemplateUnsupportedError(construct="% on a text")
    if isinstance(left, VIEWS) or isinstance(right, VIEWS):
        raise TemplateUnsupportedError(construct="arithmetic on a view of an object")
    if op == "*":
        repeated = _bound_product(left, right, budget)
        if repeated is not None:
            return repeated
    if op == "**":
        _bound_power(left, right, budget)
    result = _operated(_ARITHMETIC[op], left, right)
    return budget.integer(result) if isinstance(result, int) else result


def signed(value: Any, *, negative: bool) -> Any:
    """`-value`, `+value`."""
    if isinstance(value, Undefined):
        value._fail()
    if not isinstance(value, (int, float)):
        raise ill_typed("a sign", value)
    return -value if negative else +value


def _operated(operation: Callable[[Any, Any], Any], left: Any, right: Any) -> Any:
    try:
        return operation(left, right)
    except TypeError as error:
        raise ill_typed("an operation", left, right) from error
    except ZeroDivisionError as error:
        raise refused("ZeroDivisionError: division by zero") from error


def _bound_product(left: Any, right: Any, budget: Budget) -> Any:
    """A text, list or tuple so many times; None for numbers."""
    made = None
    for held, times in ((left, right), (right, left)):
        if isinstance(held, SafeText):
            raise TemplateUnsupportedError(construct="* on a text marked safe")
        if isinstance(held, (str, list, tuple)) and isinstance(times, int):
            size = len(held) * max(0, times)
            budget.text(size)
            budget.charge(0 if isinstance(held, str) else size)
            # An empty one stays empty, however often.
            made = held * max(0, times) if held else held
    return made


def _bound_power(left: Any, right: Any, budget: Budget) -> None:
    if (
        isinstance(left, float)
        or isinstance(right, float)
        or (isinstance(right, int) and right < 0)
    ):
        # Its last bit is the C library's, which differs between machines.
        raise TemplateUnsupportedError(construct="a power that is no integer")
    if isinstance(left, int) and isinstance(right, int) and abs(left) > 1 and right > 64:
        budget.integer(limits.MAX_INTEGER + 1)


_ARITHMETIC: dict[str, Callable[[Any, Any], Any]] = {
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "//": operator.floordiv,
    "%": operator.mod,
    "**": operator.pow,
}
