"""A frozen tolerance policy: one limit a checkpoint, each with its noise floor and reason."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from trlm_lab.base import canon
from trlm_lab.base.records.checks import require

#: Policies in which the oracle's own drift stands have a schema of their own.
_PLAIN, _WITH_DRIFT = "trlm.tolerance.v1", "trlm.tolerance.v2"


@dataclass(frozen=True)
class PolicyEntry:
    """Limit and floor of |candidate - oracle| at one checkpoint (absolute, float).

    `floor` is the oracle's own noise: the larger of its error and of `drift`, how far it was
    measured to move by itself (None where that was not measured). `algorithm` is the measured
    error of the float32 profile that candidates are held to (0 where none was measured); the limit
    comes from the larger.
    """

    checkpoint: str
    floor: float
    limit: float
    reason: str
    algorithm: float = 0.0
    drift: float | None = None

    def __post_init__(self) -> None:
        for name in ("floor", "limit", "algorithm"):
            value = getattr(self, name)
            require(math.isfinite(value) and value >= 0, self.checkpoint, f"{name} is {value}")
        own = self.drift
        within = own is None or 0 <= own <= self.floor
        require(within, self.checkpoint, f"drift is {own} where the floor is {self.floor}")

    def to_list(self) -> list[Any]:
        """Canonical list; a drift that was not measured is left out."""
        row = [self.checkpoint, self.floor, self.limit, self.reason, self.algorithm]
        return row if self.drift is None else [*row, self.drift]


@dataclass(frozen=True)
class TolerancePolicy:
    """Limits by checkpoint name, with everything they were derived from.

    `factor` is the predeclared safety factor; `oracle_id`, `reference_id` and
    `calibration_suite` (content ids) bind the runs; judged cases must be disjoint. `drift_id` names
    the record of the oracle's own drift, and is empty where none was measured.
    """

    name: str
    version: int
    factor: float
    oracle_id: str
    reference_id: str
    calibration_suite: str
    calibration_cases: tuple[str, ...]
    entries: tuple[PolicyEntry, ...]
    drift_id: str = ""

    def __post_init__(self) -> None:
        names = [e.checkpoint for e in self.entries]
        require(len(names) == len(set(names)), "policy", "a checkpoint has two entries")
        measured = {e.drift is not None for e in self.entries}
        require(measured <= {bool(self.drift_id)}, "policy", "drift and drift_id go together")

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
            "schema": _WITH_DRIFT if self.drift_id else _PLAIN,
            "name": self.name,
            "version": self.version,
            "factor": float(self.factor),
            "oracle_id": self.oracle_id,
            "reference_id": self.reference_id,
            "calibration_suite": self.calibration_suite,
            "calibration_cases": list(self.calibration_cases),
            "entries": [entry.to_list() for entry in self.entries],
            **({"drift_id": self.drift_id} if self.drift_id else {}),
        }

    @classmethod
    def from_map(cls, row: dict[str, Any]) -> TolerancePolicy:
        """Inverse of `to_map`."""
        wanted = _WITH_DRIFT if "drift_id" in row else _PLAIN
        require(row.get("schema") == wanted, "policy", "unknown schema")
        kept = {k: v for k, v in row.items() if k not in ("schema", "entries", "calibration_cases")}
        entries = tuple(PolicyEntry(*e) for e in row["entries"])
        return cls(**kept, calibration_cases=tuple(row["calibration_cases"]), entries=entries)

    @property
    def policy_id(self) -> str:
        """Content id; freezing a policy is writing this down before the judged run."""
        return canon.content_id(self.to_map())
