"""What a verification found, and how far it got."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from trlm_lab.base.records import Node
from trlm_lab.errors import TrlmError
from trlm_lab.receipts.fixes import FIXES

#: Called with what is being done, the units done, and all units.
Progress = Callable[[str, int, int], None]


def silent(what: str, done: int, total: int) -> None:
    """Report nothing."""


@dataclass(frozen=True)
class Finding:
    """One broken rule: code, place, detail and likely fix; level `error` or `note`."""

    code: str
    where: str
    detail: str
    level: str = "error"
    fix: str = ""


@dataclass
class VerifyReport:
    """Counts of what was checked, and what was found.

    `kind` is the type of the root node, or `conformance` for a report over a promotion; `proves`
    says in words what a sound verdict means. `hashes` are the SHA-256 of the listed files that
    were read and agree, by path below the directory; `read` are the nodes of the store that are
    what their names say, so that nobody reads them again.
    """

    root: str | None = None
    kind: str = ""
    proves: str = ""
    nodes: int = 0
    blobs: int = 0
    files: int = 0
    recomputed: int = 0
    findings: list[Finding] = field(default_factory=list)
    hashes: dict[str, str] = field(default_factory=dict, repr=False)
    read: dict[str, Node] = field(default_factory=dict, repr=False)

    @property
    def sound(self) -> bool:
        """No finding of level `error`."""
        return not any(f.level == "error" for f in self.findings)

    def fail(self, code: str, where: str, detail: str, fix: str = "") -> None:
        """Record an error; the fix is that of the code unless one is given."""
        self._add(code, where, detail, "error", fix)

    def note(self, code: str, where: str, detail: str) -> None:
        """Record something that spoils no verdict."""
        self._add(code, where, detail, "note", "")

    def fail_with(self, error: TrlmError) -> None:
        """Record an error that was raised."""
        self._add(error.code, error.where, error.detail, "error", error.remedy)

    def _add(self, code: str, where: str, detail: str, level: str, fix: str) -> None:
        # A hostile store may hold names and texts that no terminal can print.
        place, words = (t.encode("utf-8", "backslashreplace").decode() for t in (where, detail))
        self.findings.append(Finding(code, place, words, level, fix or FIXES.get(code, "")))
