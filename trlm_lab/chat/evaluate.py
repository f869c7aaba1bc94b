"""Expressions of a compiled template: one small function an operation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from trlm_lab.chat.arithmetic import add_up, arithmetic, signed
from trlm_lab.chat.compare import COMPARED, weigh_compared
from trlm_lab.chat.filters import UNMARKED
from trlm_lab.chat.functions import call_function
from trlm_lab.chat.ir import Node
from trlm_lab.chat.is_tests import run_test
from trlm_lab.chat.lookup import attribute, item, key_of, to_text
from trlm_lab.chat.methods import call_method
from trlm_lab.chat.owned_text import TEMPLATE, SafeText, Text, as_prefix, joined, of
from trlm_lab.chat.refusals import hashed, ill_typed, refused
from trlm_lab.chat.sequence_filters import run_filter
from trlm_lab.chat.state import State
from trlm_lab.chat.values import GlobalFunction, Macro, Undefined
from trlm_lab.errors import TemplateEvaluationError, TemplateUnsupportedError, TrlmError

#: What Python raises for operations that the source refuses at run time.
REFUSALS = (TypeError, ValueError, LookupError, ArithmeticError, AttributeError)


def evaluate(state: State, index: int) -> Any:
    """The value of an expression node.

    Raises:
        TemplateEvaluationError: what the source refuses at run time, with the line.
        TemplateLimitError, TemplateUnsupportedError, TemplateRaisedError,
        NondeterministicTemplateError: see `errors`.
    """
    node = state.nodes[index]
    state.budget.enter()
    try:
        return _BY_OP[node[0]](state, node)
    except TrlmError as error:
        raise located(error, state, node) from error
    except REFUSALS as error:
        place = state.at(node)
        raise TemplateEvaluationError(where=place, detail=words(error)) from error
    finally:
        state.budget.live -= 1


def located(error: TrlmError, state: State, node: Node) -> TrlmError:
    """The error with the line where it arose; the innermost one stays."""
    return error if error.where else type(error)(where=state.at(node), **error.facts)


def words(error: Exception) -> str:
    """What Python says of an operation, in one line."""
    return f"{type(error).__name__}: {error}".replace("\n", " ")[:300]


def _all(state: State, indexes: list[int]) -> list[Any]:
    return [evaluate(state, index) for index in indexes]


def _const(state: State, node: Node) -> Any:
    value = node[2]
    return of(value, TEMPLATE) if isinstance(value, str) else value


def _name(state: State, node: Node) -> Any:
    return state.resolve(node[2])


def _list(state: State, node: Node) -> Any:
    return _all(state, node[2])


def _tuple(state: State, node: Node) -> Any:
    return tuple(_all(state, node[2]))


def _dict(state: State, node: Node) -> Any:
    made: dict[Any, Any] = {}
    for key, value in zip(node[2], node[3], strict=True):
        spelled = key_of(evaluate(state, key))
        held = evaluate(state, value)
        made[hashed(spelled)] = held
    return made


def _add(state: State, node: Node) -> Any:
    total = evaluate(state, node[2][0])
    texts = _chain(total)
    for index in node[2][1:]:
        value = evaluate(state, index)
        if texts is not None and _chain(value):
            texts.append(value)
            continue
        total = add_up(joined(texts) if texts else total, value, state.budget)
        texts = _chain(total)
    if texts is None:
        return total
    state.budget.text(sum(map(len, texts)))
    return joined(texts)


def _chain(value: Any) -> list[Text] | None:
    """The start of a sum of plain texts, which is built once at its end."""
    return [value] if type(value) is Text else None


def _concat(state: State, node: Node) -> Any:
    texts = [to_text(value, state.budget) for value in _all(state, node[2])]
    state.budget.text(sum(map(len, texts)))
    return joined(texts)


def _arith(state: State, node: Node) -> Any:
    left, right = evaluate(state, node[3]), evaluate(state, node[4])
    return arithmetic(node[2], left, right, state.budget)


def _neg(state: State, node: Node) -> Any:
    return signed(evaluate(state, node[2]), negative=True)


def _pos(state: State, node: Node) -> Any:
    return signed(evaluate(state, node[2]), negative=False)


def _not(state: State, node: Node) -> Any:
    return not evaluate(state, node[2])


def _and(state: State, node: Node) -> Any:
    return evaluate(state, node[2]) and evaluate(state, node[3])


def _or(state: State, node: Node) -> Any:
    return evaluate(state, node[2]) or evaluate(state, node[3])


def _compare(state: State, node: Node) -> Any:
    left = evaluate(state, node[2])
    result: Any = True
    for op, index in zip(node[3], node[4], strict=True):
        right = evaluate(state, index)
        weigh_compared(op, left, right, state.budget)
        result = COMPARED[op](left, right)
        if not result:
            return result
        left = right
    return result


def _cond(state: State, node: Node) -> Any:
    holds = bool(evaluate(state, node[2]))
    chosen = node[3] if holds else node[4]
    if chosen is None:
        return Undefined("the condition is false and there is no else")
    value = evaluate(state, chosen)
    prefix = node[5][0] if holds else node[5][1]
    return as_prefix(value) if prefix and isinstance(value, Text) else value


def _attr(state: State, node: Node) -> Any:
    return attribute(evaluate(state, node[2]), node[3])


def _item(state: State, node: Node) -> Any:
    held = evaluate(state, node[2])
    return item(held, evaluate(state, node[3]))


def _slice(state: State, node: Node) -> Any:
    held = evaluate(state, node[2])
    parts = [None if part is None else evaluate(state, part) for part in node[3:6]]
    if isinstance(held, Undefined):
        held._fail()
    if not isinstance(held, (str, list, tuple, range)):
        raise ill_typed("a slice", held)
    if not isinstance(held, range):
        state.budget.text(len(held))
    start, stop, step = parts
    for part in (step, start, stop):
        if part is not None and not isinstance(part, int):
            raise ill_typed("a place", part)
        if part is step and step == 0:
            raise refused("ValueError: slice step cannot be zero")
    return held[start:stop:step]


def _named(state: State, names: list[str], indexes: list[int]) -> dict[str, Any]:
    return dict(zip(names, _all(state, indexes), strict=True))


def _filter(state: State, node: Node) -> Any:
    held = evaluate(state, node[2])
    if isinstance(held, str):
        state.budget.text(len(held))
    if isinstance(held, SafeText) and node[3] not in UNMARKED:
        raise TemplateUnsupportedError(construct=f"the filter {node[3]!r} on a text marked safe")
    args, named = _all(state, node[4]), _named(state, node[5], node[6])
    return run_filter(node[3], held, args, named, state.budget)


def _test(state: State, node: Node) -> Any:
    held = evaluate(state, node[2])
    return run_test(node[3], held, _all(state, node[4]), state.budget)


def _method(state: State, node: Node) -> Any:
    held = evaluate(state, node[2])
    args, named = _all(state, node[4]), _named(state, node[5], node[6])
    return call_method(held, node[3], args, named, state.budget)


def _call(state: State, node: Node) -> Any:
    callee = state.resolve(node[2])
    args, named = _all(state, node[3]), _named(state, node[4], node[5])
    if isinstance(callee, Macro):
        return state.call_macro(callee, args, named)
    if isinstance(callee, GlobalFunction):
        return call_function(callee.name, args, named, state)
    if isinstance(callee, Undefined):
        callee._fail()
    raise ill_typed("a call", callee)


def _captured(state: State, node: Node) -> Any:
    return state.captured[-1]


_BY_OP: dict[str, Callable[[State, Node], Any]] = {
    "const": _const,
    "name": _name,
    "list": _list,
    "tuple": _tuple,
    "dict": _dict,
    "add": _add,
    "concat": _concat,
    "arith": _arith,
    "neg": _neg,
    "pos": _pos,
    "not": _not,
    "and": _and,
    "or": _or,
    "compare": _compare,
    "cond": _cond,
    "attr": _attr,
    "item": _item,
    "slice": _slice,
    "filter": _filter,
    "test": _test,
    "call": _call,
    "method": _method,
    "captured": _captured,
}
