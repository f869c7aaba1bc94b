"""Statements of a compiled template: output, names, branches, loops, macros."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from trlm_lab.chat.evaluate import REFUSALS, evaluate, located, words
from trlm_lab.chat.ir import Node
from trlm_lab.chat.lazy import bound_depth
from trlm_lab.chat.lookup import to_text
from trlm_lab.chat.owned_text import Text, as_prefix
from trlm_lab.chat.refusals import ill_typed, refused
from trlm_lab.chat.sequence_filters import walked
from trlm_lab.chat.state import State
from trlm_lab.chat.values import Loop, Macro, Namespace, Scope, Undefined
from trlm_lab.errors import TemplateEvaluationError, TrlmError


class _Break(Exception):
    """Leaves the nearest loop."""


class _Continue(Exception):
    """Leaves the nearest round."""


def execute(state: State, index: int) -> None:
    """Run a statement node. Raises as `evaluate`."""
    node = state.nodes[index]
    state.budget.enter()
    try:
        _BY_OP[node[0]](state, node)
    except TrlmError as error:
        raise located(error, state, node) from error
    except REFUSALS as error:
        raise TemplateEvaluationError(where=state.at(node), detail=words(error)) from error
    finally:
        state.budget.live -= 1


@contextmanager
def _inside(state: State, hidden: list[str], parent: Scope | None = None) -> Iterator[Scope]:
    before = state.scope
    state.scope = Scope(parent or before, hidden)
    try:
        yield state.scope
    finally:
        state.scope = before


def _capture_body(state: State, index: int) -> Text:
    state.begin()
    try:
        execute(state, index)
    except BaseException:
        state.end()
        raise
    return state.end()


def _body(state: State, node: Node) -> None:
    for index in node[2]:
        execute(state, index)


def _emit(state: State, node: Node) -> None:
    for index in node[2]:
        state.write(to_text(evaluate(state, index), state.budget))


def _assign(state: State, index: int, value: Any) -> None:
    node = state.nodes[index]
    bound_depth(value)
    if state.prefix and isinstance(value, Text):
        value = as_prefix(value)
    if node[0] == "to_name":
        state.scope.held[node[2]] = value
    elif node[0] == "to_field":
        held = state.resolve(node[2])
        if not isinstance(held, Namespace):
            raise refused("cannot assign attribute on non-namespace object")
        held.held[node[3]] = value
    else:
        parts = list(walked(value, state.budget))
        if len(parts) != len(node[2]):
            raise refused(f"ValueError: {len(parts)} values for {len(node[2])} names")
        for target, part in zip(node[2], parts, strict=True):
            _assign(state, target, part)


def _set(state: State, node: Node) -> None:
    _assign(state, node[2], evaluate(state, node[3]))


def _filtered_text(state: State, hidden: list[str], body: int, value: int) -> Any:
    with _inside(state, hidden):
        state.captured.append(_capture_body(state, body))
        try:
            return evaluate(state, value)
        finally:
            state.captured.pop()


def _capture(state: State, node: Node) -> None:
    _assign(state, node[2], _filtered_text(state, node[4], node[5], node[3]))


def _filtered(state: State, node: Node) -> None:
    made = _filtered_text(state, node[2], node[3], node[4])
    if not isinstance(made, Text):
        raise ill_typed("the output of a filter", made)
    state.write(to_text(made, state.budget))


def _if(state: State, node: Node) -> None:
    for at, test in enumerate(node[2]):
        if evaluate(state, test):
            _branch(state, node[3][at], node[5][at])
            return
    if node[4] is not None:
        _branch(state, node[4], node[5][-1])


def _branch(state: State, body: int, prefix: bool) -> None:
    before = state.prefix
    state.prefix = before or prefix
    try:
        execute(state, body)
    finally:
        state.prefix = before


def _with(state: State, node: Node) -> None:
    values = [evaluate(state, index) for index in node[3]]
    with _inside(state, node[4]):
        for target, value in zip(node[2], values, strict=True):
            _assign(state, target, value)
        execute(state, node[5])


def _scope(state: State, node: Node) -> None:
    with _inside(state, node[2]):
        execute(state, node[3])


def _for(state: State, node: Node) -> None:
    _, _, target, over, test, hidden, body, other, other_hidden = node
    items = _chosen(state, target, evaluate(state, over), test)
    loop, completed = Loop(items, 0), False
    for at, value in enumerate(items):
        loop.index0 = at
        with _inside(state, hidden) as scope:
            scope.held["loop"] = loop
            _assign(state, target, value)
            try:
                execute(state, body)
                completed = True
            except _Continue:
                continue
            except _Break:
                break
    # The source writes `else` where no round came to its end, and not only where there was none.
    if not completed and other is not None:
        with _inside(state, other_hidden):
            execute(state, other)


def _chosen(state: State, target: int, values: Any, test: int | None) -> list[Any]:
    chosen = []
    for value in walked(values, state.budget):
        if test is None:
            chosen.append(value)
            continue
        with _inside(state, []):
            _assign(state, target, value)
            if evaluate(state, test):
                chosen.append(value)
    return chosen


def _macro(state: State, node: Node) -> None:
    macro = Macro(node, state.scope)
    state.scope.held[node[2]] = macro


def call_macro(state: State, macro: Macro, args: list[Any], named: dict[str, Any]) -> Text:
    """Run a macro and return what it writes."""
    _, _, name, parameters, defaults, hidden, body = macro.node
    if len(args) > len(parameters):
        most = len(parameters)
        raise refused(f"TypeError: macro {name!r} takes not more than {most} argument(s)")
    given = dict(zip(parameters, args, strict=False))
    for key, value in named.items():
        if key in given or key not in parameters:
            raise refused(f"TypeError: macro {name!r} takes no argument {key!r}")
        given[key] = value
    state.budget.call()
    prefix, state.prefix = state.prefix, False
    try:
        with _inside(state, hidden, macro.scope):
            _bind(state, parameters, defaults, given)
            return _capture_body(state, body)
    finally:
        state.prefix = prefix
        state.budget.macros -= 1


def _bind(state: State, names: list[str], defaults: list[int], given: dict[str, Any]) -> None:
    first_default = len(names) - len(defaults)
    for at, name in enumerate(names):
        if name in given:
            value = given[name]
        elif at >= first_default:
            value = evaluate(state, defaults[at - first_default])
        else:
            value = Undefined(f"parameter {name!r} was not provided")
        bound_depth(value)
        state.scope.held[name] = value


def _break(state: State, node: Node) -> None:
    raise _Break


def _continue(state: State, node: Node) -> None:
    raise _Continue


_BY_OP: dict[str, Callable[[State, Node], None]] = {
    "body": _body,
    "emit": _emit,
    "set": _set,
    "capture": _capture,
    "filtered": _filtered,
    "if": _if,
    "with": _with,
    "scope": _scope,
    "for": _for,
    "macro": _macro,
    "break": _break,
    "continue": _continue,
}
