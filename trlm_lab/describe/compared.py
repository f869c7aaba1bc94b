"""What the rules of the conflict detector look at, and where they put what they find."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from trlm_lab.base.safetensors_header import StoredTensor
from trlm_lab.describe.declarations import Documents
from trlm_lab.describe.receipt import ERROR, ConflictFinding
from trlm_lab.describe.templates import DeclaredTemplate, TemplateTokens
from trlm_lab.describe.vocabulary import Vocabulary


@dataclass
class Findings:
    """What the rules have found so far; each rule adds to it."""

    rows: list[ConflictFinding] = field(default_factory=list)

    def add(self, code: str, where: str, detail: str, field: str, level: str = ERROR) -> None:
        """Note a broken rule about a field; what was said before is not said again."""
        row = ConflictFinding(code, where, detail, level, field)
        if row not in self.rows:
            self.rows.append(row)

    def about(self, field: str) -> bool:
        """Whether a stop concerns the field."""
        return any(f.field == field and f.level == ERROR for f in self.rows)


@dataclass(frozen=True)
class Templates:
    """Every declared template, the one that is run, and its tokens.

    `run` is what all agree on or what a resolution names; None for none, or several.
    """

    declared: tuple[DeclaredTemplate, ...]
    run: DeclaredTemplate | None = None
    tokens: TemplateTokens | None = None
    problem: str = ""

    @property
    def texts(self) -> frozenset[str]:
        """The distinct readable templates."""
        return frozenset(t.text for t in self.declared if not t.problem)


@dataclass(frozen=True)
class Compared:
    """Documents, vocabulary, templates and tensors of one model; `source` are the framework's."""

    documents: Documents
    vocab: Vocabulary
    templates: Templates
    tensors: Mapping[str, StoredTensor]
    findings: Findings
    source: Mapping[str, Any]
