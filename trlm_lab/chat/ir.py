"""The compiled template: a flat table of nodes, bounded, declarative, and one canonical form.

A node is `[op, line, field, …]`; it refers to other nodes by their index, and only to earlier ones,
so that every table is a finite tree walk. `OPS` is the whole language.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from trlm_lab.base import canon

SCHEMA = "trlm.template.ir"
VERSION = 1

#: Field kinds: n a node, m a node or null, l a list of nodes, s a text, t a list of texts,
#: c a constant, b a list of Booleans.
OPS: dict[str, str] = {
    "const": "c",
    "name": "s",
    "list": "l",
    "tuple": "l",
    "dict": "ll",
    "add": "l",
    "concat": "l",
    "arith": "snn",
    "neg": "n",
    "pos": "n",
    "not": "n",
    "and": "nn",
    "or": "nn",
    "compare": "ntl",
    "cond": "nnmb",
    "attr": "ns",
    "item": "nn",
    "slice": "nmmm",
    "filter": "nsltl",
    "test": "nsl",
    "call": "sltl",
    "method": "nsltl",
    "captured": "",
    "emit": "l",
    "to_name": "s",
    "to_field": "ss",
    "to_parts": "l",
    "set": "nn",
    "capture": "nntn",
    "if": "llmb",
    "for": "nnmtnmt",
    "with": "lltn",
    "scope": "tn",
    "filtered": "tnn",
    "macro": "stltn",
    "break": "",
    "continue": "",
    "body": "l",
}

Node = list[Any]


@dataclass(frozen=True)
class TemplateIR:
    """Nodes (the last one is the root body) and the names that the root hides from its start."""

    nodes: tuple[Node, ...]
    hidden: tuple[str, ...] = ()

    def to_map(self) -> dict[str, Any]:
        """The canonical map; the source text is not in it."""
        return {
            "schema": SCHEMA,
            "version": VERSION,
            "hidden": list(self.hidden),
            "nodes": [list(node) for node in self.nodes],
        }

    @cached_property
    def encoded(self) -> bytes:
        """Deterministic CBOR."""
        return canon.encode(self.to_map())

    @property
    def sha256(self) -> str:
        """Identity of the compiled template."""
        return canon.sha256_hex(self.encoded)

    @property
    def root(self) -> int:
        """Index of the root body."""
        return len(self.nodes) - 1


@dataclass(frozen=True)
class CompiledTemplate:
    """A compiled template beside the source bytes that it came from."""

    ir: TemplateIR
    source_sha256: str

    @property
    def ir_sha256(self) -> str:
        """Identity of the compiled form."""
        return self.ir.sha256
