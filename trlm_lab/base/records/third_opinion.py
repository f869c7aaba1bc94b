"""A third opinion: logits of an independent runtime beside those of two other engines."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

from trlm_lab.base import canon
from trlm_lab.base.records.checks import require
from trlm_lab.base.records.engine import EngineIdentity

SCHEMA = "trlm.third_opinion.v1"


@dataclass(frozen=True)
class OpinionLimit:
    """How far the peer may be from the others: `relative` to the RMS of the oracle's logits.

    A fault must show at `fault_ratio` times that; logits of an RMS below `least_rms` are not
    judged, since what is absolute in the peer's arithmetic would count for too much.
    """

    hidden_act: str
    relative: float
    source: str
    least_rms: float
    fault_ratio: float

    def __post_init__(self) -> None:
        numbers = (self.relative, self.least_rms, self.fault_ratio)
        require(all(n > 0 for n in numbers), "limit", f"{numbers} are not all positive")


@dataclass(frozen=True)
class Distance:
    """How far the peer's logits of one case are from an engine's.

    `rms` is that of the oracle's logits, `relative` is `max_abs` by it; `same_greedy` counts the
    positions with the same largest logit.
    """

    engine: str
    case_id: str
    positions: int
    rms: float
    max_abs: float
    relative: float
    same_greedy: int

    def beyond(self, limit: float) -> bool:
        """Whether it is farther than a limit; a NaN is."""
        return not self.relative <= limit

    @property
    def order(self) -> float:
        """What distances are compared by: a NaN is the farthest."""
        return math.inf if math.isnan(self.relative) else self.relative

    def to_map(self) -> dict[str, Any]:
        """Canonical map: what is not finite is written as `nan` or `inf`."""
        return {
            name: value if not isinstance(value, float) or math.isfinite(value) else str(value)
            for name, value in asdict(self).items()
        }


@dataclass(frozen=True)
class ThirdOpinion:
    """The record: who was asked, on what, and how far apart they are.

    `fault` is the planted fault whose distances are `planted`, or why none could be planted.
    `unasked` holds the reason of every case that the peer does not run.
    """

    snapshot: str
    config_id: str
    family: str
    limit: OpinionLimit
    engines: tuple[EngineIdentity, ...]
    distances: tuple[Distance, ...]
    fault: str
    planted: tuple[Distance, ...] = ()
    unasked: tuple[tuple[str, str], ...] = ()

    @property
    def worst(self) -> Distance:
        """The largest distance of a sound engine."""
        return max(self.distances, key=lambda row: row.order)

    @property
    def agrees(self) -> bool:
        """Whether every sound engine is within the limit on every case."""
        return not any(row.beyond(self.limit.relative) for row in self.distances)

    @property
    def fault_seen(self) -> bool | None:
        """Whether the planted fault shows by the ratio asked for; None where none was planted."""
        if not self.planted:
            return None
        wanted = self.limit.relative * self.limit.fault_ratio
        return max(row.order for row in self.planted) >= wanted

    @property
    def holds(self) -> bool:
        """Whether the engines agree and the comparison could have seen a fault."""
        return self.agrees and self.fault_seen is not False

    @property
    def record_id(self) -> str:
        """SHA-256 of the canonical map."""
        return canon.content_id(self.to_map())

    def to_map(self) -> dict[str, Any]:
        """Canonical map."""
        return {
            "schema": SCHEMA,
            "snapshot": self.snapshot,
            "config_id": self.config_id,
            "family": self.family,
            "limit": asdict(self.limit),
            "engines": [engine.to_map() for engine in self.engines],
            "distances": [row.to_map() for row in self.distances],
            "fault": self.fault,
            "planted": [row.to_map() for row in self.planted],
            "unasked": [list(row) for row in self.unasked],
        }
