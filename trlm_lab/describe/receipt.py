"""The conflict receipt: what each file declares, and whether the declarations agree."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from trlm_lab.base import canon
from trlm_lab.describe.fixes import fix_of
from trlm_lab.describe.resolution import Resolution

ACCEPT, STOP = "accept", "stop"
#: Levels of findings: an error stops, a resolved one did, a note never does.
ERROR, NOTE, RESOLVED = "error", "note", "resolved"

_WORD = 2**63


def recordable(value: Any) -> Any:
    """A declared value as a record holds it: JSON types only, no integer beyond 64 bits."""
    if isinstance(value, dict):
        return {str(key): recordable(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [recordable(item) for item in value]
    if isinstance(value, int) and not isinstance(value, bool) and not -_WORD <= value < _WORD:
        digest = hashlib.sha256(f"{value:x}".encode()).hexdigest()
        return f"integer of {value.bit_length()} bits, SHA-256 of its digits {digest}"
    return value


@dataclass(frozen=True)
class Declaration:
    """One place that declares a field: file, JSON pointer (or `line N` of a text), its value."""

    file: str
    pointer: str
    value: Any

    @property
    def place(self) -> str:
        """File and pointer in one text."""
        return f"{self.file}#{self.pointer}" if self.pointer else self.file

    def to_map(self) -> dict[str, Any]:
        """Canonical map."""
        return {"file": self.file, "pointer": self.pointer, "value": recordable(self.value)}


@dataclass(frozen=True)
class ConflictFinding:
    """One broken rule about one field; `level` is `error`, `note` or `resolved`."""

    code: str
    where: str
    detail: str
    level: str = ERROR
    field: str = ""

    @property
    def fix(self) -> str:
        """What to do about it."""
        return fix_of(self.code)

    def to_map(self) -> dict[str, str]:
        """The form that `trlm check` prints."""
        row = {"code": self.code, "where": self.where, "detail": self.detail, "fix": self.fix}
        return {**row, "level": self.level, "field": self.field}


@dataclass(frozen=True)
class Evidence:
    """One field in the four columns of evidence, which never override one another silently.

    `publisher` are the declarations, `source` is what the pinned implementation does (None: not
    asked, or no value), `undefined` what nobody declares, `chosen` the explicit choice made here
    (None where stopped or left to the source). `compared` is no column: what else the rules of the
    field looked at, by value or by digest.
    """

    field: str
    publisher: tuple[Declaration, ...]
    source: Any = None
    undefined: str = ""
    chosen: Any = None
    compared: tuple[Declaration, ...] = ()

    def to_map(self) -> dict[str, Any]:
        """Canonical map."""
        return {
            "field": self.field,
            "publisher": [d.to_map() for d in self.publisher],
            "source": recordable(self.source),
            "undefined": self.undefined,
            "chosen": recordable(self.chosen),
            "compared": [d.to_map() for d in self.compared],
        }


@dataclass(frozen=True)
class ConflictReceipt:
    """Evidence and findings of one model directory; machine readable, deterministic."""

    evidence: tuple[Evidence, ...]
    findings: tuple[ConflictFinding, ...]
    chosen_ids: dict[str, tuple[int, ...]] = field(default_factory=dict)
    resolutions: tuple[Resolution, ...] = ()

    @property
    def stops(self) -> tuple[ConflictFinding, ...]:
        """The findings that forbid going on."""
        return tuple(f for f in self.findings if f.level == ERROR)

    @property
    def verdict(self) -> str:
        """`accept` or `stop`."""
        return STOP if self.stops else ACCEPT

    @property
    def code(self) -> str:
        """`OK`, or the code of the first finding that stops."""
        return self.stops[0].code if self.stops else "OK"

    @property
    def deviations(self) -> tuple[str, ...]:
        """What every receipt and report over this model must show, one sentence a resolution."""
        return tuple(r.statement for r in self.resolutions)

    def conflict_id(self, finding: ConflictFinding) -> str:
        """The name of one conflict: its rule, its field and all that was compared for the field.

        A resolution names it, and so holds only as long as no byte of that changes. What the
        framework does is not part of it: that follows from these declarations and its version.
        Where a rule finds several things about one field, place and words tell them apart.
        """
        row = next((e for e in self.evidence if e.field == finding.field), None)
        seen = {} if row is None else {"publisher": row.publisher, "compared": row.compared}
        body = {name: [d.to_map() for d in declared] for name, declared in seen.items()}
        which: dict[str, Any] = {"code": finding.code, "field": finding.field}
        alike = [f for f in self.findings if (f.code, f.field) == (finding.code, finding.field)]
        if len(alike) > 1:
            which |= {"where": finding.where, "detail": finding.detail}
        return canon.content_id({**which, **body})

    def to_map(self) -> dict[str, Any]:
        """Canonical map."""
        return {
            "schema": "trlm.conflict.v3",
            "verdict": self.verdict,
            "code": self.code,
            "evidence": [e.to_map() for e in self.evidence],
            "findings": [{**f.to_map(), "conflict_id": self.conflict_id(f)} for f in self.findings],
            "chosen_ids": {role: list(ids) for role, ids in self.chosen_ids.items()},
            "resolutions": [r.to_map() for r in self.resolutions],
        }

    @property
    def receipt_id(self) -> str:
        """Content id."""
        return canon.content_id(self.to_map())


def evidence_table(receipt: ConflictReceipt | Mapping[str, Any]) -> list[dict[str, str]]:
    """The four columns as a table for people, one row a field; of a receipt or its map."""
    row = receipt.to_map() if isinstance(receipt, ConflictReceipt) else receipt
    stopped = {f["field"] for f in row["findings"] if f["level"] == ERROR}
    return [
        {
            "field": e["field"],
            "publisher declares": "; ".join(map(_said, e["publisher"])) or "-",
            "source does": _short(e["source"]),
            "undefined": e["undefined"] or "-",
            "our choice": "STOPPED" if e["field"] in stopped else _short(e["chosen"]),
        }
        for e in row["evidence"]
    ]


def _said(row: Mapping[str, Any]) -> str:
    return f"{Declaration(**row).place} = {_short(row['value'])}"


def _short(value: Any) -> str:
    if value is None:
        return "-"
    text = str(recordable(value))
    return text if len(text) <= 100 else f"{text[:97]}..."
