"""A template's source into its compiled form: statements and blocks, refused by name and line."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

from jinja2 import nodes

from trlm_lab.base import canon
from trlm_lab.chat import limits
from trlm_lab.chat.frames import Names, hidden, names_of
from trlm_lab.chat.generation_prompt import implied_by, implied_by_failure
from trlm_lab.chat.ir import CompiledTemplate, TemplateIR
from trlm_lab.chat.lower_expressions import Table, apply_filter, expression, expressions
from trlm_lab.chat.parse import parse_template
from trlm_lab.chat.read_ir import check_ir
from trlm_lab.errors import TemplateLimitError

#: Names that the body of a macro has of its own.
_OF_A_MACRO = frozenset({"caller", "kwargs", "varargs"})


def compile_template(source: bytes | str, *, where: str = "template") -> CompiledTemplate:
    """Parse a template and compile it into the bounded declarative form.

    Raises:
        TemplateSourceError: no template.
        TemplateUnsupportedError: a construct outside the subset, named, with its line.
        TemplateLimitError: beyond a bound of `limits`.
    """
    tree = parse_template(source, where=where)
    try:
        table = Table(tree, where)
        names = names_of(tree.body)
        block = _Block(table, _namespaces(tree), frozenset(names.known))
        block.body(tree.body, 1)
    except RecursionError as error:
        raise TemplateLimitError(
            where=where, what="nesting", got="the stack", limit=limits.MAX_NODE_DEPTH
        ) from error
    ir = TemplateIR(tuple(table.made), tuple(hidden(names, frozenset())))
    check_ir(ir, where=where)
    data = source if isinstance(source, bytes) else source.encode()
    return CompiledTemplate(ir, canon.sha256_hex(data))


def _namespaces(tree: nodes.Template) -> frozenset[str]:
    return frozenset(ref.name for ref in tree.find_all(nodes.NSRef))


@dataclass(frozen=True)
class _Block:
    """One block of names: the table, the names that enclosing blocks know, and loops around."""

    table: Table
    namespaces: frozenset[str]
    known: frozenset[str]
    in_loop: bool = False

    def inside(self, names: Names, *, in_loop: bool | None = None) -> tuple[_Block, list[str]]:
        """The block within, and the names that it hides."""
        inner = replace(
            self,
            known=self.known | names.known,
            in_loop=self.in_loop if in_loop is None else in_loop,
        )
        return inner, hidden(names, self.known)

    def body(self, held: Iterable[nodes.Node], line: int) -> int:
        """Lower statements in order."""
        made = [self.statement(node) for node in held]
        return self.table.add("body", line, made)

    def statement(self, node: nodes.Node) -> int:
        """Lower one statement."""
        lower = _STATEMENTS.get(type(node))
        if lower is None:
            self.table.refuse(f"the statement {type(node).__name__}", node)
        return lower(self, node)

    def target(self, node: nodes.Node) -> int:
        """What an assignment writes to."""
        table = self.table
        if isinstance(node, nodes.NSRef):
            if node.attr.startswith("_"):
                table.refuse(f"the namespace field {node.attr!r}", node)
            return table.add("to_field", node.lineno, node.name, node.attr)
        if isinstance(node, nodes.Tuple):
            return table.add("to_parts", node.lineno, [self.target(n) for n in node.items])
        if not isinstance(node, nodes.Name):
            table.refuse(f"an assignment to {type(node).__name__}", node)
        return table.add("to_name", node.lineno, node.name)


def _emit(block: _Block, node: Any) -> int:
    return block.table.add("emit", node.lineno, expressions(block.table, node.nodes))


def _assign(block: _Block, node: Any) -> int:
    value = expression(block.table, node.node)
    return block.table.add("set", node.lineno, block.target(node.target), value)


def _assign_block(block: _Block, node: Any) -> int:
    inner, names = block.inside(names_of(node.body))
    body = inner.body(node.body, node.lineno)
    table = block.table
    if node.filter is None:
        value = table.add("captured", node.lineno)
    else:
        value = apply_filter(table, node.filter)
    return table.add("capture", node.lineno, block.target(node.target), value, names, body)


def _if(block: _Block, node: Any) -> int:
    branches = [node, *node.elif_]
    tests = expressions(block.table, [branch.test for branch in branches])
    bodies = [block.body(branch.body, branch.lineno) for branch in branches]
    other = block.body(node.else_, node.lineno) if node.else_ else None
    prefix, failed = [], False
    for branch in branches:
        prefix.append(failed or implied_by(branch.test))
        failed = failed or implied_by_failure(branch.test)
    return block.table.add("if", node.lineno, tests, bodies, other, [*prefix, failed])


def _for(block: _Block, node: Any) -> int:
    table = block.table
    if node.recursive:
        table.refuse("a recursive loop", node)
    if any(n.name == "loop" for n in _target_names(node.target)):
        table.refuse("a loop over the name 'loop'", node)
    for name in node.find_all(nodes.Name):
        if name.name == "loop" and name.ctx == "store":
            table.refuse("an assignment to 'loop' within a loop", name)
    over = expression(table, node.iter)
    target = block.target(node.target)
    test = None
    if node.test is not None:
        if any(n.name in block.namespaces for n in _all_names(node.test)):
            table.refuse("a loop condition that reads a namespace", node)
        test = expression(table, node.test)
    inner, names = block.inside(names_of(node.body, _loop_targets(node)), in_loop=True)
    body = inner.body(node.body, node.lineno)
    outer, other_names = block.inside(names_of(node.else_))
    other = outer.body(node.else_, node.lineno) if node.else_ else None
    return table.add("for", node.lineno, target, over, test, names, body, other, other_names)


def _loop_targets(node: Any) -> list[nodes.Node]:
    return [node.target, nodes.Name("loop", "param")]


def _target_names(node: nodes.Node) -> list[nodes.Name]:
    return [node] if isinstance(node, nodes.Name) else list(node.find_all(nodes.Name))


def _all_names(node: nodes.Node) -> list[nodes.Name]:
    own = [node] if isinstance(node, nodes.Name) else []
    return own + list(node.find_all(nodes.Name))


def _with(block: _Block, node: Any) -> int:
    values = expressions(block.table, node.values)
    inner, names = block.inside(names_of(node.body, node.targets))
    targets = [block.target(target) for target in node.targets]
    body = inner.body(node.body, node.lineno)
    return block.table.add("with", node.lineno, targets, values, names, body)


def _generation(block: _Block, node: Any) -> int:
    """To the source its body is that of a macro which is called there, by `caller`."""
    for name in node.find_all(nodes.Name):
        if name.name in _OF_A_MACRO and name.ctx == "load" and name.name in block.known:
            block.table.refuse(f"the name {name.name!r} within generation", name)
    inner, names = block.inside(names_of(node.body), in_loop=False)
    return block.table.add("scope", node.lineno, names, inner.body(node.body, node.lineno))


def _filter_block(block: _Block, node: Any) -> int:
    inner, names = block.inside(names_of(node.body))
    body = inner.body(node.body, node.lineno)
    value = apply_filter(block.table, node.filter)
    return block.table.add("filtered", node.lineno, names, body, value)


def _macro(block: _Block, node: Any) -> int:
    names = names_of([*node.defaults, *node.body], node.args)
    inner, own = block.inside(names, in_loop=False)
    defaults = expressions(block.table, node.defaults)
    body = inner.body(node.body, node.lineno)
    parameters = [arg.name for arg in node.args]
    return block.table.add("macro", node.lineno, node.name, parameters, defaults, own, body)


def _leave(block: _Block, node: Any) -> int:
    op = "break" if isinstance(node, nodes.Break) else "continue"
    if not block.in_loop:
        block.table.refuse(f"{op} outside a loop", node)
    return block.table.add(op, node.lineno)


_STATEMENTS: dict[type, Callable[[_Block, Any], int]] = {
    nodes.Output: _emit,
    nodes.Assign: _assign,
    nodes.AssignBlock: _assign_block,
    nodes.If: _if,
    nodes.For: _for,
    nodes.With: _with,
    nodes.Scope: _generation,
    nodes.FilterBlock: _filter_block,
    nodes.Macro: _macro,
    nodes.Break: _leave,
    nodes.Continue: _leave,
}
