"""The conflict receipt: what each file declares, and whether the declarations agree."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from trlm_lab.base import canon

ACCEPT, STOP = "accept", "stop"
#: Levels of findings: an error stops, a note does not.
ERROR, NOTE = "error", "note"


@dataclass(frozen=True)
class ConflictFinding:
    """One broken rule; `level` is `error` or `note`."""

    code: str
    where: str
    detail: str
    level: str = ERROR

    def to_map(self) -> dict[str, str]:
        """The form that `trlm check` prints."""
        return {"code": self.code, "where": self.where, "detail": self.detail, "level": self.level}


@dataclass(frozen=True)
class Evidence:
    """One field in the four columns of evidence, which never override one another silently.

    `publisher` maps a file to its declaration; `source` is what the pinned implementation does,
    `undefined` what nobody declares, `chosen` the explicit choice made here (None where stopped).
    """

    field: str
    publisher: dict[str, Any]
    source: Any = None
    undefined: str = ""
    chosen: Any = None

    def to_map(self) -> dict[str, Any]:
        """Canonical map."""
        return dict(vars(self))


@dataclass(frozen=True)
class ConflictReceipt:
    """Evidence and findings of one model directory; machine readable, deterministic."""

    evidence: tuple[Evidence, ...]
    findings: tuple[ConflictFinding, ...]
    chosen_ids: dict[str, tuple[int, ...]] = field(default_factory=dict)

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

    def to_map(self) -> dict[str, Any]:
        """Canonical map."""
        return {
            "schema": "trlm.conflict.v1",
            "verdict": self.verdict,
            "code": self.code,
            "evidence": [e.to_map() for e in self.evidence],
            "findings": [f.to_map() for f in self.findings],
            "chosen_ids": {role: list(ids) for role, ids in self.chosen_ids.items()},
        }

    @property
    def receipt_id(self) -> str:
        """Content id."""
        return canon.content_id(self.to_map())
