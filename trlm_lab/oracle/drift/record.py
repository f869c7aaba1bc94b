"""What was measured: the spread of every checkpoint under every condition, as a frozen record."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trlm_lab.base import canon
from trlm_lab.errors import OracleUnsteadyError, RecordError
from trlm_lab.metrics import differing_bits, max_abs_difference, max_ulp
from trlm_lab.metrics.masks import MASKED_OPERATORS, masked_entries

SCHEMA = "trlm.oracle.drift.v1"


@dataclass(frozen=True)
class Spread:
    """How far one checkpoint moved, over all cases.

    `relative` is by the RMS of what its baseline does not mask.
    """

    checkpoint: str
    elements: int
    differing: int
    max_ulp: int
    max_abs: float
    relative: float

    def joined(self, other: Spread) -> Spread:
        """The spread over both samples."""
        return Spread(
            self.checkpoint,
            self.elements + other.elements,
            self.differing + other.differing,
            max(self.max_ulp, other.max_ulp),
            max(self.max_abs, other.max_abs),
            max(self.relative, other.relative),
        )


@dataclass(frozen=True)
class Standing:
    """One condition: its spread by checkpoint, or why it was not measured."""

    name: str
    what: str
    reason: str
    spread: tuple[Spread, ...]

    @property
    def measured(self) -> bool:
        """Whether it ran."""
        return not self.reason

    @property
    def worst(self) -> Spread | None:
        """The checkpoint that moved the farthest by its RMS."""
        return max(self.spread, key=lambda row: row.relative, default=None)

    @classmethod
    def from_map(cls, row: dict[str, Any]) -> Standing:
        """Inverse of `to_map`."""
        return cls(**{**row, "spread": tuple(Spread(**one) for one in row["spread"])})

    def to_map(self) -> dict[str, Any]:
        """Canonical map."""
        head = {"name": self.name, "what": self.what, "reason": self.reason}
        return {**head, "spread": [asdict(row) for row in self.spread]}


@dataclass(frozen=True)
class OracleDrift:
    """The record: who ran (`environment`), on what (`config_id`, `weights`, `cases`), and how far
    it moved.
    """

    environment: dict[str, Any]
    config_id: str
    weights: str
    cases: tuple[str, ...]
    standings: tuple[Standing, ...]

    @property
    def repeats(self) -> bool:
        """Whether the same run gave the same bits; if not, nothing else here means anything."""
        again = next(s for s in self.standings if s.name == "again")
        return all(row.differing == 0 for row in again.spread)

    @property
    def record_id(self) -> str:
        """SHA-256 of the canonical map."""
        return canon.content_id(self.to_map())

    def floor(self) -> dict[str, float]:
        """The farthest that each checkpoint moved under any condition, by its baseline's RMS."""
        farthest: dict[str, float] = {}
        for standing in self.standings:
            for row in standing.spread:
                farthest[row.checkpoint] = max(farthest.get(row.checkpoint, 0.0), row.relative)
        return farthest

    def moved(self) -> dict[str, float]:
        """The farthest that each checkpoint moved under any condition, absolute."""
        farthest: dict[str, float] = {}
        for row in (row for standing in self.standings for row in standing.spread):
            farthest[row.checkpoint] = max(farthest.get(row.checkpoint, 0.0), row.max_abs)
        return farthest

    def require_steady(self) -> None:
        """Raise OracleUnsteadyError where the same run gave other bits."""
        again = next(s for s in self.standings if s.name == "again")
        odd = [row for row in again.spread if row.differing]
        if odd:
            raise OracleUnsteadyError(where=odd[0].checkpoint, differing=odd[0].differing)

    @classmethod
    def from_map(cls, row: dict[str, Any]) -> OracleDrift:
        """Inverse of `to_map`.

        Raises:
            RecordError: the map is of another schema.
        """
        if not isinstance(row, dict) or row.get("schema") != SCHEMA:
            raise RecordError(where="oracle drift", detail=f"its schema is not {SCHEMA}")
        try:
            standings = tuple(Standing.from_map(one) for one in row["conditions"])
            return cls(
                row["environment"], row["config_id"], row["weights"], tuple(row["cases"]), standings
            )
        except (KeyError, TypeError) as error:
            detail = f"the map is no record: {type(error).__name__}: {error}"
            raise RecordError(where="oracle drift", detail=detail) from error

    def to_map(self) -> dict[str, Any]:
        """Canonical map."""
        return {
            "schema": SCHEMA,
            "environment": self.environment,
            "config_id": self.config_id,
            "weights": self.weights,
            "cases": list(self.cases),
            "conditions": [standing.to_map() for standing in self.standings],
        }


def spread_of(checkpoint: str, baseline: NDArray[np.float32], moved: NDArray[np.float32]) -> Spread:
    """The spread of one array of one case."""
    differing = int(np.count_nonzero(differing_bits(baseline, moved)))
    size = baseline.size
    if not differing:
        return Spread(checkpoint, size, 0, 0, 0.0, 0.0)
    farthest = max_abs_difference(baseline, moved)
    rms = math.sqrt(float(np.mean(np.square(_visible(checkpoint, baseline), dtype=np.float64))))
    # Where all of the baseline is zero the smallest normal number stands for its magnitude.
    relative = farthest / (rms or float(np.finfo(np.float32).tiny))
    return Spread(checkpoint, size, differing, max_ulp(baseline, moved), farthest, relative)


def _visible(checkpoint: str, values: NDArray[np.float32]) -> NDArray[np.float32]:
    """What is not masked: the mark of a masked entry is the most negative float32."""
    if checkpoint.rpartition(".")[2] not in MASKED_OPERATORS:
        return values
    return values[~masked_entries(values)]
