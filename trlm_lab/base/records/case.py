"""A conformance case: token ids, perhaps from a text, with their positions and mask."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from trlm_lab.base import canon
from trlm_lab.base.records.checks import require

_CASE_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,79}\Z")


@dataclass(frozen=True)
class Case:
    """One input. `case_id` is safe as a file name; `text` is the source text of a text case."""

    case_id: str
    token_ids: tuple[int, ...]
    text: str | None = None
    position_ids: tuple[int, ...] | None = None
    attention_mask: tuple[int, ...] | None = None

    def __post_init__(self) -> None:
        require(bool(_CASE_ID.match(self.case_id)), "case_id", f"{self.case_id!r} is no case id")
        where = f"case {self.case_id}"
        require(len(self.token_ids) > 0, where, "no token ids")
        require(all(0 <= t < 2**31 for t in self.token_ids), where, "token id out of range")
        for name in ("position_ids", "attention_mask"):
            value = getattr(self, name)
            ok = value is None or len(value) == len(self.token_ids)
            require(ok, where, f"{name} has another length than token_ids")

    @property
    def kind(self) -> str:
        """`text` or `token_ids`."""
        return "token_ids" if self.text is None else "text"

    def to_map(self) -> dict[str, Any]:
        """Canonical map; absent fields are left out."""
        row: dict[str, Any] = {"case_id": self.case_id, "token_ids": list(self.token_ids)}
        for name in ("text", "position_ids", "attention_mask"):
            value = getattr(self, name)
            if value is not None:
                row[name] = list(value) if isinstance(value, tuple) else value
        return row

    @property
    def digest(self) -> str:
        """Content id of the case."""
        return canon.content_id(self.to_map())


@dataclass(frozen=True)
class CaseSuite:
    """Named cases; ids are unique."""

    name: str
    cases: tuple[Case, ...]

    def __post_init__(self) -> None:
        ids = [c.case_id for c in self.cases]
        require(len(ids) == len(set(ids)), f"suite {self.name}", "a case id occurs twice")

    @property
    def tokens(self) -> int:
        """Tokens over all cases."""
        return sum(len(c.token_ids) for c in self.cases)

    @property
    def digest(self) -> str:
        """Content id of the ordered cases."""
        return canon.content_id([c.to_map() for c in self.cases])
