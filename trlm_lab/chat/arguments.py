"""Arguments of filters, functions and methods, held against the parameters that take them."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from inspect import Parameter, signature
from typing import Any

from trlm_lab.chat.refusals import ill_typed, refused

_PLACE = 2**63
_BY_NAME = (Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY)


@lru_cache(maxsize=256)
def _parameters(function: Callable[..., Any], own: int) -> tuple[Parameter, ...]:
    """The parameters behind the first `own` ones."""
    return tuple(signature(function).parameters.values())[own:]


def call(
    function: Callable[..., Any], own: tuple[Any, ...], args: list[Any], named: dict[str, Any]
) -> Any:
    """Call a function with values of ours and the template's arguments.

    Raises:
        TemplateEvaluationError: too many arguments, an unknown one, or one that is missing.
    """
    rows = _parameters(function, len(own))
    kinds = {row.kind for row in rows}
    if Parameter.VAR_POSITIONAL not in kinds:
        _require(rows, args, named)
    elif Parameter.VAR_KEYWORD not in kinds:
        no_names(named)
    return function(*own, *args, **named)


def _require(rows: tuple[Parameter, ...], args: list[Any], named: dict[str, Any]) -> None:
    by_name = [row.name for row in rows if row.kind in _BY_NAME]
    if len(args) > len(rows):
        raise refused(f"TypeError: {len(args)} arguments, at most {len(rows)}")
    given = {row.name for row in rows[: len(args)]}
    for name in named:
        if name not in by_name or name in given:
            raise refused(f"TypeError: the argument {name!r}")
    for row in rows[len(args) :]:
        if row.default is Parameter.empty and row.name not in named:
            raise refused(f"TypeError: the argument {row.name!r} is missing")


def no_names(named: dict[str, Any]) -> None:
    """Refuse arguments by name."""
    for name in named:
        raise refused(f"TypeError: the argument {name!r}")


def integer(value: Any) -> int:
    """An integer. Raises TemplateEvaluationError."""
    if not isinstance(value, int):
        raise ill_typed("an integer", value)
    return int(value)


def place(value: Any) -> int:
    """A count for lengths and places: beyond 64 bits it is none. Raises TemplateEvaluationError."""
    if not -_PLACE <= integer(value) < _PLACE:
        raise refused("OverflowError: the integer is too large for a place")
    return int(value)


def text(value: Any, what: str) -> Any:
    """A text. Raises TemplateEvaluationError."""
    if not isinstance(value, str):
        raise ill_typed(what, value)
    return value
