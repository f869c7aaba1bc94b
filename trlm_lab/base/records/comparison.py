"""What the comparator found: metrics and an outcome per checkpoint, case and run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from trlm_lab.base import canon
from trlm_lab.base.records.checks import require
from trlm_lab.base.records.outcome import Outcome, worst


@dataclass(frozen=True)
class Metrics:
    """Error of a candidate array against a reference array; float64 figures.

    `max_ulp` counts float32 steps; `quantiles` are of |c-r| at 0.5, 0.9, 0.99, 0.999;
    `failing` counts elements beyond the limit, `first_failing` is the C-order flat index.
    """

    elements: int
    max_abs: float
    max_rel: float
    rms: float
    reference_rms: float
    max_ulp: int
    quantiles: tuple[float, ...]
    failing: int
    first_failing: int | None
    bit_equal: bool

    def to_map(self) -> dict[str, Any]:
        """Canonical map."""
        return {k: list(v) if isinstance(v, tuple) else v for k, v in vars(self).items()}


@dataclass(frozen=True)
class LogitMetrics:
    """What a change of logits means for the next token; reported, never judged by.

    KL in nats, forward is KL(reference || candidate); `top_k_agreement` the share of the
    reference's k highest ids that the candidate has too; `top1_equal` counts positions with one
    greedy token; `margin_min` the reference's smallest gap between its two highest logits;
    `rank_max` the worst place (0 is first) of the reference's greedy token with the candidate.
    """

    positions: int
    top_k: int
    kl_forward_max: float
    kl_forward_mean: float
    kl_reverse_max: float
    kl_reverse_mean: float
    top_k_agreement_min: float
    top_k_agreement_mean: float
    top1_equal: int
    margin_min: float
    rank_max: int

    def to_map(self) -> dict[str, Any]:
        """Canonical map."""
        return dict(vars(self))


@dataclass(frozen=True)
class CheckpointComparison:
    """One checkpoint of one case; `index` is the first failing logical index, with both bits."""

    checkpoint: str
    outcome: Outcome
    metrics: Metrics | None
    limit: float | None
    floor: float | None
    index: tuple[int, ...] | None = None
    reference_bits: str | None = None
    candidate_bits: str | None = None
    note: str = ""
    logits: LogitMetrics | None = None

    def to_map(self) -> dict[str, Any]:
        """Canonical map."""
        row = dict(vars(self))
        row["outcome"] = self.outcome.value
        row["logits"] = None if self.logits is None else self.logits.to_map()
        row["metrics"] = None if self.metrics is None else self.metrics.to_map()
        row["index"] = None if self.index is None else list(self.index)
        return row

    @classmethod
    def from_map(cls, row: dict[str, Any]) -> CheckpointComparison:
        """Inverse of `to_map`."""
        made = dict(row, outcome=Outcome(row["outcome"]))
        if row["metrics"] is not None:
            quantiles = tuple(row["metrics"]["quantiles"])
            made["metrics"] = Metrics(**dict(row["metrics"], quantiles=quantiles))
        if row["logits"] is not None:
            made["logits"] = LogitMetrics(**row["logits"])
        made["index"] = None if row["index"] is None else tuple(row["index"])
        return cls(**made)


@dataclass(frozen=True)
class CaseComparison:
    """All compared checkpoints of one case, in ladder order."""

    case_id: str
    checkpoints: tuple[CheckpointComparison, ...]

    @property
    def outcome(self) -> Outcome:
        """The most severe outcome of the case."""
        return worst([c.outcome for c in self.checkpoints])


@dataclass(frozen=True)
class Comparison:
    """A candidate run against a reference run under one frozen policy."""

    reference_id: str
    candidate_id: str
    policy_id: str | None
    cases: tuple[CaseComparison, ...]

    @property
    def outcome(self) -> Outcome:
        """The most severe outcome of the run."""
        return worst([c.outcome for c in self.cases])

    def to_map(self) -> dict[str, Any]:
        """Canonical map."""
        return {
            "schema": "trlm.comparison.v1",
            "reference_id": self.reference_id,
            "candidate_id": self.candidate_id,
            "policy_id": self.policy_id,
            "cases": [
                {"case_id": c.case_id, "checkpoints": [p.to_map() for p in c.checkpoints]}
                for c in self.cases
            ],
        }

    @classmethod
    def from_map(cls, row: dict[str, Any]) -> Comparison:
        """Inverse of `to_map`."""
        require(row.get("schema") == "trlm.comparison.v1", "comparison", "unknown schema")
        cases = tuple(
            CaseComparison(
                c["case_id"], tuple(CheckpointComparison.from_map(p) for p in c["checkpoints"])
            )
            for c in row["cases"]
        )
        return cls(row["reference_id"], row["candidate_id"], row["policy_id"], cases)

    @property
    def comparison_id(self) -> str:
        """Content id."""
        return canon.content_id(self.to_map())
