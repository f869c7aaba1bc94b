"""A frozen tolerance policy: one limit a checkpoint, each with its noise floor and reason."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from trlm_lab.base import canon
from trlm_lab.base.records.checks import require


@dataclass(frozen=True)
class PolicyEntry:
    """Limit and floor of |candidate - oracle| at one checkpoint (absolute, float).

    `floor` is the oracle's own noise, `algorithm` the measured error of the float32 profile that
    candidates are held to (0 where none was measured); the limit comes from the larger.
    """

    checkpoint: str
    floor: float
    limit: float
    reason: str
    algorithm: float = 0.0

    def __post_init__(self) -> None:
        for name in ("floor", "limit", "algorithm"):
            value = getattr(self, name)
            require(math.isfinite(value) and value >= 0, self.checkpoint, f"{name} is {value}")


@dataclass(frozen=True)
class TolerancePolicy:
    """Limits by checkpoint name, with everything they were derived from.

    `factor` is the predeclared safety factor; `oracle_id`, `reference_id` and
    `calibration_suite` (content ids) bind the runs; judged cases must be disjoint.
    """

    name: str
    version: int
    factor: float
    oracle_id: str
    reference_id: str
    calibration_suite: str
    calibration_cases: tuple[str, ...]
    entries: tuple[PolicyEntry, ...]

    def __post_init__(self) -> None:
        names = [e.checkpoint for e in self.entries]
        require(len(names) == len(set(names)), "policy", "a checkpoint has two entries")

    def entry(self, checkpoint: str) -> PolicyEntry | None:
        """The entry of a checkpoint, or None."""
        return self._index.get(checkpoint)

    @property
    def _index(self) -> dict[str, PolicyEntry]:
        cached: dict[str, PolicyEntry] | None = self.__dict__.get("_cached_index")
        if cached is None:
            cached = {e.checkpoint: e for e in self.entries}
            object.__setattr__(self, "_cached_index", cached)
        return cached

    def to_map(self) -> dict[str, Any]:
        """Canonical map."""
        return {
            "schema": "trlm.tolerance.v1",
            "name": self.name,
            "version": self.version,
            "factor": float(self.factor),
            "oracle_id": self.oracle_id,
            "reference_id": self.reference_id,
            "calibration_suite": self.calibration_suite,
            "calibration_cases": list(self.calibration_cases),
            "entries": [
                [e.checkpoint, e.floor, e.limit, e.reason, e.algorithm] for e in self.entries
            ],
        }

    @classmethod
    def from_map(cls, row: dict[str, Any]) -> TolerancePolicy:
        """Inverse of `to_map`."""
        require(row.get("schema") == "trlm.tolerance.v1", "policy", "unknown schema")
        kept = {k: v for k, v in row.items() if k not in ("schema", "entries", "calibration_cases")}
        entries = tuple(PolicyEntry(*e) for e in row["entries"])
        return cls(**kept, calibration_cases=tuple(row["calibration_cases"]), entries=entries)

    @property
    def policy_id(self) -> str:
        """Content id; freezing a policy is writing this down before the judged run."""
        return canon.content_id(self.to_map())
