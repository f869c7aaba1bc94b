"""Expressions of the syntax tree into nodes of the compiled template, by allow-list."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NoReturn

from jinja2 import nodes

from trlm_lab.chat import limits
from trlm_lab.chat.allowed import BY_TEST, FILTERS, FUNCTIONS, METHODS, TESTS
from trlm_lab.chat.generation_prompt import implied_by, implied_by_failure
from trlm_lab.errors import TemplateLimitError, TemplateUnsupportedError

#: Names that the source's environment defines and the subset does not.
FOREIGN = frozenset({"cycler", "joiner", "lipsum", "self", "caller", "varargs", "kwargs", "super"})
_ARITHMETIC = (nodes.Sub, nodes.Mul, nodes.Div, nodes.FloorDiv, nodes.Mod, nodes.Pow)


class Table:
    """The nodes made so far, and where the template stands."""

    def __init__(self, tree: nodes.Template, where: str) -> None:
        self.where = where
        self.made: list[list[Any]] = []
        self.written = _written(tree)

    def add(self, op: str, line: int, *fields: Any) -> int:
        """Append a node; its index."""
        if len(self.made) >= limits.MAX_NODES:
            raise TemplateLimitError(
                where=self.at(line), what="nodes", got=len(self.made) + 1, limit=limits.MAX_NODES
            )
        self.made.append([op, line, *fields])
        return len(self.made) - 1

    def at(self, line: int) -> str:
        """A place for people."""
        return f"{self.where} line {line}"

    def refuse(self, construct: str, node: nodes.Node) -> NoReturn:
        """Refuse a construct by name and line."""
        raise TemplateUnsupportedError(where=self.at(node.lineno or 1), construct=construct)


def _written(tree: nodes.Template) -> frozenset[str]:
    names = {n.name for n in tree.find_all(nodes.Name) if n.ctx in ("store", "param")}
    return frozenset(names | {m.name for m in tree.find_all(nodes.Macro)})


def expression(table: Table, node: nodes.Node) -> int:
    """Lower one expression; the index of its node."""
    lower = _BY_TYPE.get(type(node))
    if lower is None:
        table.refuse(f"the expression {type(node).__name__}", node)
    return lower(table, node)


def expressions(table: Table, held: list[Any]) -> list[int]:
    """Lower a list."""
    return [expression(table, node) for node in held]


def _constant(table: Table, node: Any) -> int:
    value = node.data if isinstance(node, nodes.TemplateData) else node.value
    if isinstance(value, float) and not math.isfinite(value):
        table.refuse("a number that is not finite", node)
    if isinstance(value, int) and abs(value) > limits.MAX_INTEGER:
        table.refuse("an integer beyond 64 bits", node)
    if isinstance(value, str) and any("\ud800" <= c <= "\udfff" for c in value):
        table.refuse("half a surrogate pair in a text", node)
    return table.add("const", node.lineno, value)


def _name(table: Table, node: Any) -> int:
    if node.name in FOREIGN and node.name not in table.written:
        table.refuse(f"the name {node.name!r}", node)
    return table.add("name", node.lineno, node.name)


def _sequence(table: Table, node: Any) -> int:
    op = "tuple" if isinstance(node, nodes.Tuple) else "list"
    return table.add(op, node.lineno, expressions(table, node.items))


def _dict(table: Table, node: Any) -> int:
    keys = [expression(table, pair.key) for pair in node.items]
    values = [expression(table, pair.value) for pair in node.items]
    return table.add("dict", node.lineno, keys, values)


def _add(table: Table, node: Any) -> int:
    # A sum of texts may have a hundred terms; as one node it is no deeper than two.
    terms, left = [node.right], node.left
    while isinstance(left, nodes.Add):
        terms.append(left.right)
        left = left.left
    return table.add("add", node.lineno, expressions(table, [left, *reversed(terms)]))


def _concat(table: Table, node: Any) -> int:
    return table.add("concat", node.lineno, expressions(table, node.nodes))


def _arithmetic(table: Table, node: Any) -> int:
    left, right = expression(table, node.left), expression(table, node.right)
    return table.add("arith", node.lineno, node.operator, left, right)


def _unary(table: Table, node: Any) -> int:
    op = {nodes.Not: "not", nodes.Neg: "neg", nodes.Pos: "pos"}[type(node)]
    return table.add(op, node.lineno, expression(table, node.node))


def _logic(table: Table, node: Any) -> int:
    left, right = expression(table, node.left), expression(table, node.right)
    return table.add(node.operator, node.lineno, left, right)


def _compare(table: Table, node: Any) -> int:
    first = expression(table, node.expr)
    others = [expression(table, operand.expr) for operand in node.ops]
    return table.add("compare", node.lineno, first, [o.op for o in node.ops], others)


def _condition(table: Table, node: Any) -> int:
    test, then = expression(table, node.test), expression(table, node.expr1)
    other = None if node.expr2 is None else expression(table, node.expr2)
    prefix = [implied_by(node.test), implied_by_failure(node.test)]
    return table.add("cond", node.lineno, test, then, other, prefix)


def _attribute(table: Table, node: Any) -> int:
    if node.attr.startswith("__"):
        table.refuse(f"the attribute {node.attr!r}", node)
    return table.add("attr", node.lineno, expression(table, node.node), node.attr)


def _folds_before_it_fails(held: Any) -> bool:
    """Whether the source computes this while it compiles, where a slice that fails is empty."""
    if isinstance(held, nodes.Const):
        return not isinstance(held.value, str)
    if isinstance(held, (nodes.Dict, nodes.Neg, nodes.Pos, nodes.Not)):
        return True
    waits = isinstance(held, (nodes.Name, nodes.Call)) or any(
        held.find_all((nodes.Name, nodes.Call))
    )
    return not waits and not isinstance(held, (nodes.List, nodes.Tuple))


def _item(table: Table, node: Any) -> int:
    held = expression(table, node.node)
    if isinstance(node.arg, nodes.Slice):
        arg = node.arg
        if _folds_before_it_fails(node.node):
            table.refuse("a slice of a constant", node)
        parts = [
            None if p is None else expression(table, p) for p in (arg.start, arg.stop, arg.step)
        ]
        return table.add("slice", node.lineno, held, *parts)
    if isinstance(node.arg, nodes.Const) and str(node.arg.value).startswith("__"):
        table.refuse(f"the attribute {node.arg.value!r}", node)
    return table.add("item", node.lineno, held, expression(table, node.arg))


def _arguments(table: Table, node: Any) -> tuple[list[int], list[str], list[int]]:
    if node.dyn_args is not None or node.dyn_kwargs is not None:
        table.refuse("arguments by * or **", node)
    values = expressions(table, [pair.value for pair in node.kwargs])
    return expressions(table, node.args), [pair.key for pair in node.kwargs], values


def apply_filter(table: Table, node: Any) -> int:
    """Lower a filter; without a node of its own it filters the captured text of its block."""
    if node.name not in FILTERS:
        table.refuse(f"the filter {node.name!r}", node)
    block = node.node is None
    held = table.add("captured", node.lineno) if block else expression(table, node.node)
    _check_named(table, node)
    args, names, values = _arguments(table, node)
    return table.add("filter", node.lineno, held, node.name, args, names, values)


def _check_named(table: Table, node: Any) -> None:
    """`select('test')`, `map('filter')`: the name must be a constant of the allow-list."""
    at = BY_TEST.get(node.name, 0 if node.name == "map" else None)
    if at is None or len(node.args) <= at:
        return
    named = node.args[at]
    allowed = FILTERS - {"safe", "map"} if node.name == "map" else TESTS
    if not isinstance(named, nodes.Const) or named.value not in allowed:
        name = getattr(named, "value", "that is computed")
        table.refuse(f"{node.name} by the name {name!r}", node)


def _test(table: Table, node: Any) -> int:
    if node.name not in TESTS:
        table.refuse(f"the test {node.name!r}", node)
    held = expression(table, node.node)
    args, names, _ = _arguments(table, node)
    if names:
        table.refuse(f"named arguments of the test {node.name!r}", node)
    return table.add("test", node.lineno, held, node.name, args)


def _call(table: Table, node: Any) -> int:
    callee = node.node
    if isinstance(callee, nodes.Name):
        if callee.name not in FUNCTIONS | table.written:
            table.refuse(f"the function {callee.name!r}", node)
        return table.add("call", node.lineno, callee.name, *_arguments(table, node))
    if not isinstance(callee, nodes.Getattr):
        table.refuse(f"a call of {type(callee).__name__}", node)
    if callee.attr not in METHODS:
        table.refuse(f"the method {callee.attr!r}", node)
    held = expression(table, callee.node)
    return table.add("method", node.lineno, held, callee.attr, *_arguments(table, node))


_BY_TYPE: dict[type, Callable[[Table, Any], int]] = {
    nodes.Const: _constant,
    nodes.TemplateData: _constant,
    nodes.Name: _name,
    nodes.List: _sequence,
    nodes.Tuple: _sequence,
    nodes.Dict: _dict,
    nodes.Add: _add,
    nodes.Concat: _concat,
    **dict.fromkeys(_ARITHMETIC, _arithmetic),
    **dict.fromkeys((nodes.Not, nodes.Neg, nodes.Pos), _unary),
    **dict.fromkeys((nodes.And, nodes.Or), _logic),
    nodes.Compare: _compare,
    nodes.CondExpr: _condition,
    nodes.Getattr: _attribute,
    nodes.Getitem: _item,
    nodes.Filter: apply_filter,
    nodes.Test: _test,
    nodes.Call: _call,
}
