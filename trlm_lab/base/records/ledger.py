"""The transformation ledger: which source tensor became which destination tensor, and how."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from trlm_lab.base import canon


@dataclass(frozen=True)
class Transform:
    """One ordered step, e.g. `copy`, `alias`, `quantize`, `rotary_permutation`; with parameters."""

    kind: str
    parameters: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class LedgerEntry:
    """One source tensor to one destination tensor; ranges are absolute byte ranges in the files."""

    source_name: str
    source_file: str
    source_range: tuple[int, int]
    source_shape: tuple[int, ...]
    source_dtype: str
    source_sha256: str
    role: str
    transforms: tuple[Transform, ...]
    destination_name: str
    destination_shape: tuple[int, ...]
    destination_dtype: str
    destination_range: tuple[int, int]
    destination_sha256: str


@dataclass(frozen=True)
class Ledger:
    """All entries in destination order; `exceptions` records every departure from a bijection."""

    entries: tuple[LedgerEntry, ...]
    exceptions: tuple[str, ...] = ()

    def to_map(self) -> dict[str, Any]:
        """Canonical map."""
        rows = []
        for e in self.entries:
            row = {k: list(v) if isinstance(v, tuple) else v for k, v in vars(e).items()}
            row["transforms"] = [[t.kind, t.parameters] for t in e.transforms]
            rows.append(row)
        return {"entries": rows, "exceptions": list(self.exceptions)}

    @classmethod
    def from_map(cls, row: dict[str, Any]) -> Ledger:
        """Inverse of `to_map`."""
        entries = []
        for entry in row["entries"]:
            made: dict[str, Any] = {
                k: tuple(v) if isinstance(v, list) else v for k, v in entry.items()
            }
            made["transforms"] = tuple(Transform(kind, p) for kind, p in entry["transforms"])
            entries.append(LedgerEntry(**made))
        return cls(tuple(entries), tuple(row["exceptions"]))

    @property
    def ledger_id(self) -> str:
        """Content id."""
        return canon.content_id(self.to_map())
