"""The functions that the source framework gives to a template."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from trlm_lab.chat import limits
from trlm_lab.chat.lazy import bound_depth
from trlm_lab.chat.lookup import to_text
from trlm_lab.chat.state import State
from trlm_lab.chat.values import Namespace
from trlm_lab.errors import (
    NondeterministicTemplateError,
    TemplateLimitError,
    TemplateRaisedError,
    TemplateUnsupportedError,
)


def call_function(name: str, args: list[Any], named: dict[str, Any], state: State) -> Any:
    """Call a function of the source's environment by name."""
    return _FUNCTIONS[name](state, *args, **named)


def _raise_exception(state: State, message: Any) -> Any:
    raise TemplateRaisedError(message=str(to_text(message, state.budget)))


def _strftime_now(state: State, format: Any) -> Any:
    if state.clock is None:
        raise NondeterministicTemplateError(format=str(to_text(format, state.budget)))
    return state.clock


def _namespace(state: State, *args: Any, **named: Any) -> Namespace:
    held = {str(key): value for key, value in dict(*args, **named).items()}
    for key in held:
        bound_depth(held[key])
        if key.startswith("_"):
            raise TemplateUnsupportedError(construct=f"the namespace field {key!r}")
    return Namespace(held)


def _range(state: State, *args: Any) -> range:
    made = range(*args)
    if len(made) > limits.MAX_RANGE:
        raise TemplateLimitError(what="length of a range", got=len(made), limit=limits.MAX_RANGE)
    return made


def _dict(state: State, *args: Any, **named: Any) -> dict[Any, Any]:
    made = dict(*args, **named)
    state.budget.charge(len(made))
    return made


_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "raise_exception": _raise_exception,
    "strftime_now": _strftime_now,
    "namespace": _namespace,
    "range": _range,
    "dict": _dict,
}
