"""A reviewed list of findings of the secret scan that are no secrets."""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from trlm_lab.base import strict_json
from trlm_lab.errors import SecretExceptionsError, TrlmError
from trlm_lab.secret_scan import SecretFinding, rule_names

SCHEMA = "trlm.secret_exceptions.v1"
_KEYS = {"rule", "where", "reason", "reviewer"}


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
    """Read a list.

    Raises:
        SecretExceptionsError: not the form, or an exception without reason or reviewer, or for a
            rule that does not exist.
    """
    where = str(path)
    try:
        row = strict_json.load_object(path)
    except TrlmError as error:
        raise SecretExceptionsError(where=where, detail=error.detail) from error
    if set(row) != {"schema", "exceptions"} or row["schema"] != SCHEMA:
        detail = f"the keys are `schema` ({SCHEMA}) and `exceptions`"
        raise SecretExceptionsError(where=where, detail=detail)
    if not isinstance(row["exceptions"], list):
        raise SecretExceptionsError(where=where, detail="`exceptions` is a list")
    rows = enumerate(row["exceptions"])
    return SecretExceptions(tuple(_exception(r, f"{where}#/exceptions/{i}") for i, r in rows))


def _exception(row: Any, where: str) -> SecretException:
    if not isinstance(row, dict) or set(row) != _KEYS:
        raise SecretExceptionsError(where=where, detail=f"an exception has {sorted(_KEYS)}")
    if not all(isinstance(v, str) and v.strip() for v in row.values()):
        raise SecretExceptionsError(where=where, detail="all four are texts")
    if row["rule"] not in rule_names()[1:]:
        raise SecretExceptionsError(where=f"{where}/rule", detail=f"no rule {row['rule']!r}")
    return SecretException(**row)
