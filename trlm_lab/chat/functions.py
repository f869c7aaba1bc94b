"""The functions that the source framework gives to a template."""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice
from typing import Any

from trlm_lab.chat import limits
from trlm_lab.chat.arguments import call, integer
from trlm_lab.chat.lazy import bound_depth
from trlm_lab.chat.lookup import key_of, to_text
from trlm_lab.chat.refusals import hashed, iterated, refused
from trlm_lab.chat.state import State
from trlm_lab.chat.values import Namespace
from trlm_lab.errors import (
    NondeterministicTemplateError,
    TemplateLimitError,
    TemplateRaisedError,
    TemplateUnsupportedError,
)

_ABSENT = object()


def call_function(name: str, args: list[Any], named: dict[str, Any], state: State) -> Any:
    """Call a function of the source's environment by name."""
    return call(_FUNCTIONS[name], (state,), args, named)


def _raise_exception(state: State, message: Any) -> Any:
    raise TemplateRaisedError(message=str(to_text(message, state.budget)))


def _strftime_now(state: State, format: Any) -> Any:
    if state.clock is None:
        raise NondeterministicTemplateError(format=str(to_text(format, state.budget)))
    return state.clock


def _namespace(state: State, *args: Any, **named: Any) -> Namespace:
    held: dict[str, Any] = {}
    for key, value in _rows(args, named).items():
        name = str(to_text(key, state.budget))
        bound_depth(value)
        if name.startswith("_"):
            raise TemplateUnsupportedError(construct=f"the namespace field {name!r}")
        held[name] = value
    return Namespace(held)


def _range(state: State, stop: Any, second: Any = _ABSENT, third: Any = _ABSENT, /) -> range:
    given = [stop, *(one for one in (second, third) if one is not _ABSENT)]
    first, *rest = map(integer, given)
    if len(rest) == 2 and rest[1] == 0:
        raise refused("ValueError: range() arg 3 must not be zero")
    made = range(first, *rest)
    try:
        length = len(made)
    except OverflowError as error:
        raise refused("OverflowError: the range is too long") from error
    if length > limits.MAX_RANGE:
        raise TemplateLimitError(what="length of a range", got=length, limit=limits.MAX_RANGE)
    return made


def _dict(state: State, *args: Any, **named: Any) -> dict[Any, Any]:
    made = _rows(args, named)
    state.budget.charge(len(made))
    return made


def _rows(args: tuple[Any, ...], named: dict[str, Any]) -> dict[Any, Any]:
    """The rows of `dict(…)`: an object or pairs, and names."""
    if len(args) > 1:
        raise refused(f"TypeError: {len(args)} arguments, at most 1")
    made: dict[Any, Any] = {}
    for given in args:
        pairs = given.items() if isinstance(given, dict) else map(_pair, iterated(given))
        for key, value in pairs:
            made[hashed(key_of(key))] = value
    return {**made, **named}


def _pair(given: Any) -> tuple[Any, Any]:
    parts = tuple(islice(iterated(given), 3))
    if len(parts) != 2:
        raise refused("ValueError: a pair has two items")
    return parts[0], parts[1]


_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "raise_exception": _raise_exception,
    "strftime_now": _strftime_now,
    "namespace": _namespace,
    "range": _range,
    "dict": _dict,
}
