"""What one rendering holds: the nodes, the names in sight, the text so far, and the budget."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from trlm_lab.chat.allowed import FUNCTIONS
from trlm_lab.chat.budget import Budget
from trlm_lab.chat.ir import Node, TemplateIR
from trlm_lab.chat.owned_text import Text, as_prefix, joined
from trlm_lab.chat.values import GlobalFunction, Macro, Scope, Undefined


class State:
    """Mutable state of one rendering; nothing of it outlives the call."""

    def __init__(
        self,
        ir: TemplateIR,
        variables: dict[str, Any],
        clock: Text | None,
        call_macro: Callable[[State, Macro, list[Any], dict[str, Any]], Text],
        where: str,
        budget: Budget,
    ) -> None:
        self.nodes: tuple[Node, ...] = ir.nodes
        self.budget = budget
        self.clock = clock
        self.scope = Scope(None, ir.hidden)
        self.captured: list[Text] = []
        self.loops = 0
        self.prefix = False
        self._variables = variables
        self._buffers: list[list[Text]] = [[]]
        self._call_macro = call_macro
        self._where = where

    def at(self, node: Node) -> str:
        """The place of a node in the template."""
        return f"{self._where} line {node[1]}"

    def resolve(self, name: str) -> Any:
        """A name: the nearest block that has it, the caller's variables, the functions."""
        try:
            return self.scope.find(name)
        except KeyError:
            pass
        if name in self._variables:
            return self._variables[name]
        return GlobalFunction(name) if name in FUNCTIONS else Undefined(f"{name!r} is undefined")

    def call_macro(self, macro: Macro, args: list[Any], named: dict[str, Any]) -> Text:
        """What a macro writes."""
        return self._call_macro(self, macro, args, named)

    def write(self, text: Text) -> None:
        """Add to the output, or to the text that is being captured."""
        if not text:
            return
        self.budget.written(len(text.encode()))
        self._buffers[-1].append(as_prefix(text) if self.prefix else text)

    def begin(self) -> None:
        """Start to capture."""
        self._buffers.append([])

    def end(self) -> Text:
        """Stop to capture; what was written since `begin`."""
        pieces = self._buffers.pop()
        self.budget.text(sum(map(len, pieces)))
        return joined(pieces)
