"""Which names a block hides from its start, because it writes them before it reads them.

The source's compiler decides per block, before anything runs, whether a name is its own. A name
whose first event in the block is an unconditional write is undefined until then, even for inner
blocks and macros and even where the caller passed a variable of that name (jinja2, idtracking).
"""

from __future__ import annotations

from collections.abc import Iterable

from jinja2 import nodes


class Names:
    """First events of one block: names read from outside, and names that are the block's own."""

    def __init__(self) -> None:
        self.known: set[str] = set()
        self.stored: set[str] = set()
        self.own: set[str] = set()

    def load(self, name: str) -> None:
        """A read."""
        self.known.add(name)

    def store(self, name: str) -> None:
        """A write; the first event makes the name the block's own."""
        self.stored.add(name)
        if name not in self.known:
            self.known.add(name)
            self.own.add(name)

    def branch(self) -> Names:
        """The state that a branch starts from."""
        made = Names()
        made.known, made.stored, made.own = set(self.known), set(self.stored), set(self.own)
        return made

    def merge(self, branches: list[Names]) -> None:
        """After the branches: what only a branch writes falls back to the outside."""
        before = set(self.stored)
        for branch in branches:
            self.known |= branch.known
            self.stored |= branch.stored
            self.own |= branch.own
        self.own -= self.stored - before


def names_of(body: Iterable[nodes.Node], targets: Iterable[nodes.Node] = ()) -> Names:
    """Events of a block whose parameters are `targets`."""
    names = Names()
    for target in targets:
        for name in target.find_all(nodes.Name):
            names.known.add(name.name)
        if isinstance(target, nodes.Name):
            names.known.add(target.name)
    _visit_all(body, names)
    return names


def hidden(names: Names, outer: frozenset[str]) -> list[str]:
    """The block's own names that no outer block knows."""
    return sorted(names.own - outer)


def _visit_all(body: Iterable[nodes.Node], names: Names) -> None:
    for node in body:
        _visit(node, names)


def _visit(node: nodes.Node, names: Names) -> None:
    if isinstance(node, nodes.Name):
        names.store(node.name) if node.ctx == "store" else names.load(node.name)
    elif isinstance(node, nodes.NSRef):
        names.load(node.name)
    elif isinstance(node, nodes.If):
        _visit_if(node, names)
    elif isinstance(node, nodes.Macro):
        names.store(node.name)
    elif isinstance(node, nodes.Assign):
        _visit(node.node, names)
        _visit(node.target, names)
    elif isinstance(node, nodes.For):
        _visit(node.iter, names)
    elif isinstance(node, nodes.FilterBlock):
        _visit(node.filter, names)
    elif isinstance(node, nodes.With):
        _visit_all(node.values, names)
    elif isinstance(node, nodes.AssignBlock):
        _visit(node.target, names)
    elif not isinstance(node, nodes.Scope):
        _visit_all(node.iter_child_nodes(), names)


def _visit_if(node: nodes.If, names: Names) -> None:
    _visit(node.test, names)
    branches = []
    for body in (node.body, node.elif_, node.else_):
        branch = names.branch()
        _visit_all(body, branch)
        branches.append(branch)
    names.merge(branches)
