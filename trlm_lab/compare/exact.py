"""Engines of one exact profile against each other, by the SHA-256 of every array.

Equal means equal dtype, shape and bytes. Nothing is read but the digests, so the claim covers
traces of which only the digests were kept.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from trlm_lab.base.names import boundary_rank, is_checkpoint
from trlm_lab.base.records import ArrayDigest, Outcome, TraceRecord
from trlm_lab.errors import NothingToCompareError

_MISSING = "missing"


@dataclass(frozen=True)
class ExactRow:
    """One array of one case: its digest by engine, None where the engine does not show it."""

    case_id: str
    name: str
    digests: tuple[ArrayDigest | None, ...]

    @property
    def outcome(self) -> Outcome:
        """WRONG where two engines differ, NOT_SUPPORTED where one lacks it, else MATCH."""
        shown = [d for d in self.digests if d is not None]
        if any(d != shown[0] for d in shown):
            return Outcome.WRONG
        return Outcome.MATCH if len(shown) == len(self.digests) else Outcome.NOT_SUPPORTED


@dataclass(frozen=True)
class Parting:
    """Where an engine first leaves the first engine in a case, with both hashes."""

    case_id: str
    name: str
    engines: tuple[str, str]
    hashes: tuple[str, str]


@dataclass(frozen=True)
class ExactTable:
    """Digests of all engines side by side; the first engine is the one compared with."""

    engines: tuple[str, ...]
    rows: tuple[ExactRow, ...]

    @property
    def outcome(self) -> Outcome:
        """WRONG before NOT_SUPPORTED before MATCH."""
        found = {row.outcome for row in self.rows}
        order = (Outcome.WRONG, Outcome.NOT_SUPPORTED, Outcome.MATCH)
        return next(outcome for outcome in order if outcome in found)

    def counts(self) -> list[dict[str, Any]]:
        """Rows (engine, equal, total): how many arrays equal the first engine's."""
        return [
            {
                "engine": engine,
                "equal": sum(row.digests[i] == row.digests[0] is not None for row in self.rows),
                "total": len(self.rows),
            }
            for i, engine in enumerate(self.engines)
        ]

    def partings(self) -> list[Parting]:
        """For each case and engine the first array, in ladder order, that is not the first's."""
        found: dict[tuple[str, int], Parting] = {}
        for row in self.rows:
            first = row.digests[0]
            for i, digest in enumerate(row.digests[1:], start=1):
                if digest != first and (row.case_id, i) not in found:
                    hashes = (_hash(first), _hash(digest))
                    engines = (self.engines[0], self.engines[i])
                    found[row.case_id, i] = Parting(row.case_id, row.name, engines, hashes)
        return list(found.values())

    def first_parting(self, engine: str) -> str:
        """`case array` of an engine's first difference in ladder order, or empty."""
        for parting in self.partings():
            if parting.engines[1] == engine:
                return f"{parting.case_id} {parting.name}"
        return ""

    def to_map(self) -> dict[str, Any]:
        """Canonical map; digests as hex, None where missing."""
        return {
            "schema": "trlm.exactness.v1",
            "engines": list(self.engines),
            "outcome": self.outcome.value,
            "counts": self.counts(),
            "partings": [
                {k: list(v) if isinstance(v, tuple) else v for k, v in vars(p).items()}
                for p in self.partings()
            ],
        }


def _hash(digest: ArrayDigest | None) -> str:
    return _MISSING if digest is None else digest.sha256


def _place(name: str) -> tuple[tuple[int, int, int], str]:
    """Order of arrays: inputs, then the ladder, then what belongs to the logits."""
    if is_checkpoint(name):
        return (boundary_rank(name), "")
    after = "logits" if name.startswith("logits.") else "prompt_ids"
    return (boundary_rank(after), name)


def exact_equality(records: Mapping[str, TraceRecord]) -> ExactTable:
    """Compare the digests of two or more engines over all cases that any of them ran.

    Raises:
        NothingToCompareError: fewer than two engines, or no array at all.
    """
    engines = tuple(records)
    held = [
        {(c.case_id, a.name): a for c in record.cases for a in c.arrays}
        for record in records.values()
    ]
    cases = list(dict.fromkeys(c.case_id for record in records.values() for c in record.cases))
    keys = {key for table in held for key in table}
    if len(engines) < 2 or not keys:
        raise NothingToCompareError(where="exact equality")
    ordered = sorted(keys, key=lambda key: (cases.index(key[0]), _place(key[1])))
    rows = tuple(ExactRow(*key, tuple(table.get(key) for table in held)) for key in ordered)
    return ExactTable(engines, rows)
