"""A reviewed list of what a repository may hold beside a model, and is left out."""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from trlm_lab.base import canon
from trlm_lab.base.reviewed_file import ReviewedFile
from trlm_lab.base.reviewed_rows import ReviewedForm
from trlm_lab.errors import TreeProfileError

SCHEMA = "trlm.tree_profile.v1"
FORM = ReviewedForm(
    SCHEMA,
    texts=frozenset({"pattern", "reason", "reviewer"}),
    said=frozenset({"reason", "reviewer"}),
    error=TreeProfileError,
    about=("pattern",),
)


@dataclass(frozen=True)
class Permission:
    """One pattern (`*` stays within no folder boundary), why it is harmless, and who says so."""

    pattern: str
    reason: str
    reviewer: str


@dataclass(frozen=True)
class TreeProfile:
    """Exceptions in order; the first that matches gives the reason."""

    exceptions: tuple[Permission, ...] = ()

    def reason(self, path: str) -> str:
        """Why a file is left out, or empty."""
        for rule in self.exceptions:
            if fnmatchcase(path, rule.pattern):
                return f"{rule.reason} ({rule.reviewer})"
        return ""

    def to_map(self) -> dict[str, Any]:
        """Canonical form."""
        return {"schema": SCHEMA, "exceptions": [vars(e) for e in self.exceptions]}

    @property
    def profile_id(self) -> str:
        """Content id."""
        return canon.content_id(self.to_map())


def load_tree_profile(path: Path) -> TreeProfile:
    """Read a profile. Raises as `parse_tree_profile`."""
    return parse_tree_profile(FORM.read(path))


def parse_tree_profile(file: ReviewedFile) -> TreeProfile:
    """The profile of a file that was read.

    Raises:
        TreeProfileError: not the form, or an exception without reason or reviewer, or one that
            would leave out the weights or the configuration, or two with one pattern.
    """
    rows = FORM.load_rows(file, "exceptions")
    rules = tuple(Permission(**row) for _, row in rows)
    profile = TreeProfile(rules)
    for needed in ("config.json", "model.safetensors", "model-00001-of-00002.safetensors"):
        if profile.reason(needed):
            detail = f"an exception would leave out {needed}"
            raise TreeProfileError(where=str(file.path), detail=detail)
    return profile
