"""A reviewed list of findings of the secret scan that are no secrets."""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from trlm_lab.base.reviewed_file import ReviewedFile
from trlm_lab.base.reviewed_rows import ReviewedForm
from trlm_lab.errors import SecretExceptionsError
from trlm_lab.secret_scan import SecretFinding, rule_names

FORM = ReviewedForm(
    "trlm.secret_exceptions.v1",
    texts=frozenset({"rule", "where", "reason", "reviewer"}),
    said=frozenset({"rule", "reason", "reviewer"}),
    error=SecretExceptionsError,
    about=("rule", "where"),
)


@dataclass(frozen=True)
class SecretException:
    """A rule's name and a pattern of places where its findings are none, why, and who says so."""

    rule: str
    where: str
    reason: str
    reviewer: str


@dataclass(frozen=True)
class SecretExceptions:
    """Exceptions in order."""

    rows: tuple[SecretException, ...] = ()

    def reason(self, finding: SecretFinding) -> str:
        """Why a finding is none, or empty."""
        for row in self.rows:
            if row.rule == finding.rule and fnmatchcase(finding.where, row.where):
                return f"{row.reason} ({row.reviewer})"
        return ""


def load_secret_exceptions(path: Path) -> SecretExceptions:
    """Read a list. Raises as `parse_secret_exceptions`."""
    return parse_secret_exceptions(FORM.read(path))


def parse_secret_exceptions(file: ReviewedFile) -> SecretExceptions:
    """The list of a file that was read.

    Raises:
        SecretExceptionsError: not the form, or an exception without reason or reviewer, or for a
            rule that does not exist, or two for one rule and place.
    """
    placed = FORM.load_rows(file, "exceptions")
    for place, row in placed:
        if row["rule"] not in rule_names()[1:]:
            raise SecretExceptionsError(where=f"{place}/rule", detail=f"no rule {row['rule']!r}")
    return SecretExceptions(tuple(SecretException(**row) for _, row in placed))
