"""Compiled templates read from bytes that nobody vouches for."""

from __future__ import annotations

from typing import Any

from trlm_lab.base import canon
from trlm_lab.chat import limits
from trlm_lab.chat.allowed import FILTERS, METHODS, TESTS
from trlm_lab.chat.ir import OPS, SCHEMA, VERSION, Node, TemplateIR
from trlm_lab.errors import TemplateIrError, TemplateLimitError

_ARITHMETIC = frozenset({"-", "*", "/", "//", "%", "**"})
_COMPARISONS = frozenset({"eq", "ne", "gt", "gteq", "lt", "lteq", "in", "notin"})
_TARGETS = frozenset({"to_name", "to_field", "to_parts"})
_STATEMENTS = frozenset(
    [
        "emit",
        "set",
        "capture",
        "if",
        "for",
        "with",
        "scope",
        "filtered",
        "macro",
        "break",
        "continue",
        "body",
    ]
)
#: Where each operation holds statements (by field), instead of expressions.
_BODIES = {
    "capture": (3,),
    "if": (1, 2),
    "for": (4, 5),
    "with": (3,),
    "scope": (1,),
    "filtered": (1,),
    "macro": (4,),
    "body": (0,),
}
_ASSIGNED = {"set": (0,), "capture": (0,), "for": (0,), "with": (0,), "to_parts": (0,)}


def read_ir(data: bytes, *, where: str = "template") -> TemplateIR:
    """Decode and check every field of a compiled template.

    Raises:
        NotCanonicalError: no canonical CBOR.
        TemplateIrError: another schema or version, an unknown operation, a wrong field.
        TemplateLimitError: too many nodes, or nested too deep.
    """
    value = canon.decode(data, where=where)
    keys = {"schema", "version", "hidden", "nodes"}
    if not isinstance(value, dict) or set(value) != keys:
        raise TemplateIrError(where=where, detail=f"the map has other keys than {sorted(keys)}")
    if value["schema"] != SCHEMA or not _is(value["version"], VERSION):
        detail = f"schema {value['schema']!r} version {value['version']!r}"
        raise TemplateIrError(where=where, detail=detail)
    hidden, nodes = value["hidden"], value["nodes"]
    if not _texts(hidden) or not isinstance(nodes, list) or not nodes:
        raise TemplateIrError(where=where, detail="hidden names or nodes are missing")
    ir = TemplateIR(tuple(nodes), tuple(hidden))
    check_ir(ir, where=where)
    return ir


def check_ir(ir: TemplateIR, *, where: str = "template") -> None:
    """Check a table of nodes. Raises as `read_ir`."""
    if len(ir.nodes) > limits.MAX_NODES:
        raise TemplateLimitError(
            where=where, what="nodes", got=len(ir.nodes), limit=limits.MAX_NODES
        )
    depths: list[int] = []
    leaving: list[bool] = []
    for index, node in enumerate(ir.nodes):
        place = f"{where} node {index}"
        children = _checked(ir.nodes, index, node, place)
        leaving.append(_leaves(node, children, leaving))
        if node[0] == "macro" and leaving[node[6]]:
            raise TemplateIrError(where=place, detail="a macro leaves a loop around it")
        depths.append(1 + max((depths[child] for child in children), default=0))
        if depths[-1] > limits.MAX_NODE_DEPTH:
            raise TemplateLimitError(
                where=f"{where} line {node[1]}",
                what="nesting",
                got=depths[-1],
                limit=limits.MAX_NODE_DEPTH,
            )
    if ir.nodes[-1][0] != "body":
        raise TemplateIrError(where=where, detail="the last node is no body")
    if leaving[-1]:
        raise TemplateIrError(where=where, detail="break or continue outside a loop")


def _leaves(node: Node, children: list[int], leaving: list[bool]) -> bool:
    """True if `break` or `continue` in this node would leave a loop around it."""
    if node[0] in ("break", "continue"):
        return True
    if node[0] == "for":
        return node[7] is not None and leaving[node[7]]
    return any(leaving[child] for child in children)


def _checked(nodes: tuple[Node, ...], index: int, node: Any, place: str) -> list[int]:
    if not isinstance(node, list) or len(node) < 2 or node[0] not in OPS:
        raise TemplateIrError(where=place, detail="no known operation")
    op, kinds = node[0], OPS[node[0]]
    if not _count(node[1]) or len(node) != 2 + len(kinds):
        raise TemplateIrError(where=place, detail=f"{op}: wrong line or number of fields")
    children: list[int] = []
    for at, (kind, value) in enumerate(zip(kinds, node[2:], strict=True)):
        if not _field(kind, value):
            raise TemplateIrError(where=place, detail=f"{op}: field {at} is no {kind!r}")
        here = _references(kind, value)
        if any(child >= index for child in here):
            raise TemplateIrError(where=place, detail=f"{op}: refers to a later node")
        if not all(_sort_of(nodes[child][0]) == _wanted(op, at) for child in here):
            raise TemplateIrError(where=place, detail=f"{op}: field {at} of the wrong sort")
        children += here
    _names(op, node, place)
    return children


def _sort_of(op: str) -> str:
    if op in _TARGETS:
        return "target"
    return "statement" if op in _STATEMENTS else "expression"


def _wanted(op: str, at: int) -> str:
    if at in _ASSIGNED.get(op, ()):
        return "target"
    return "statement" if at in _BODIES.get(op, ()) else "expression"


def _field(kind: str, value: Any) -> bool:
    if kind == "n":
        return _count(value)
    if kind == "m":
        return value is None or _count(value)
    if kind == "l":
        return isinstance(value, list) and all(_count(v) for v in value)
    if kind == "s":
        return isinstance(value, str)
    if kind == "t":
        return _texts(value)
    if kind == "b":
        return isinstance(value, list) and all(isinstance(v, bool) for v in value)
    return value is None or isinstance(value, (bool, int, float, str))


def _references(kind: str, value: Any) -> list[int]:
    if kind == "l":
        return list(value)
    return [value] if kind in "nm" and value is not None else []


def _is(value: Any, number: int) -> bool:
    return _count(value) and bool(value == number)


def _count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(v, str) for v in value)


def _names(op: str, node: Node, place: str) -> None:
    """Names and counts that the kinds of the fields do not say."""
    lists = {
        "filter": lambda: node[3] in FILTERS and len(node[5]) == len(node[6]),
        "method": lambda: node[3] in METHODS and len(node[5]) == len(node[6]),
        "test": lambda: node[3] in TESTS,
        "call": lambda: len(node[4]) == len(node[5]),
        "arith": lambda: node[2] in _ARITHMETIC,
        "compare": lambda: len(node[3]) == len(node[4]) > 0 and _COMPARISONS.issuperset(node[3]),
        "dict": lambda: len(node[2]) == len(node[3]),
        "with": lambda: len(node[2]) == len(node[3]),
        "cond": lambda: len(node[5]) == 2,
        "if": lambda: len(node[2]) == len(node[3]) and len(node[5]) == len(node[2]) + 1,
        "macro": lambda: len(node[4]) <= len(node[3]),
        "attr": lambda: not node[3].startswith("__"),
        "to_field": lambda: not node[3].startswith("_"),
    }
    if op in lists and not lists[op]():
        raise TemplateIrError(where=place, detail=f"{op}: a name or count outside the language")
