"""The third run: how noisy float32 itself is on a judged case, measured only where it matters.

A comparison or bisection is made under the frozen limits alone. Where a case exceeds them, the
oracle and the reference engine's profile are held against float64 on that very case, and the
verdict is formed once more with that noise known (`metrics.excused`). No candidate takes part in
the measurement.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from trlm_lab.base.interfaces import Subject, TraceView
from trlm_lab.base.records import (
    FAULTS,
    CaseComparison,
    CaseSuite,
    Comparison,
    Mismatch,
    Outcome,
    TolerancePolicy,
)
from trlm_lab.bisection import find_first_mismatch
from trlm_lab.compare import compare_traces
from trlm_lab.flows.calibration import measure_floors
from trlm_lab.flows.identity import package_sha256
from trlm_lab.flows.workspace import Workspace


@dataclass
class Conditioning:
    """Noise by case and checkpoint on one artifact; measured on demand and remembered."""

    ws: Workspace
    label: str
    oracle: TraceView
    subject: Subject
    suite: CaseSuite
    known: dict[str, dict[str, float]] = field(default_factory=dict)

    def measure(self, case_ids: set[str]) -> None:
        """Measure these cases, where that was not done."""
        for case in self.suite.cases:
            if case.case_id in case_ids and case.case_id not in self.known:
                inputs = {
                    "oracle": self.oracle.trace_id,
                    "case": case.digest,
                    "subject": dict(self.subject.ids or {}),
                    "package": package_sha256(),
                }
                stage = f"noise-{self.label}-{case.case_id}"
                one = CaseSuite(case.case_id, (case,))
                known = self.ws.recall(stage, inputs)
                if known is None:
                    known = self.ws.remember(stage, inputs, self._noise(one))
                self.known[case.case_id] = known

    def _noise(self, suite: CaseSuite) -> dict[str, float]:
        label = f"{self.label}, third run of {suite.name}"
        floors, _ = measure_floors(self.ws, self.oracle, self.subject, suite, label, hold=False)
        return {f.checkpoint: max(f.floor, f.algorithm) for f in floors.floors}

    def compare(self, candidate: TraceView, policy: TolerancePolicy) -> Comparison:
        """Compare every case; those beyond their limits once more with their noise known."""
        cases = self.oracle.case_ids()
        rows: list[CaseComparison] = []
        with self.ws.board.meter(f"compare on {self.label}", len(cases), "cases") as meter:
            for case_id in cases:
                one = compare_traces(self.oracle, candidate, policy, cases=[case_id])
                rows += one.cases
                meter.advance()
        first = Comparison(self.oracle.trace_id, candidate.trace_id, policy.policy_id, tuple(rows))
        beyond = {c.case_id for c in first.cases if c.outcome in FAULTS}
        if not beyond:
            return first
        self.measure(beyond)
        again = compare_traces(
            self.oracle, candidate, policy, cases=sorted(beyond), noise=self.known
        )
        new = {c.case_id: c for c in again.cases}
        merged = tuple(new.get(c.case_id, c) for c in first.cases)
        return Comparison(first.reference_id, first.candidate_id, first.policy_id, merged)

    def used_for(self, comparison: Comparison) -> dict[str, dict[str, float]]:
        """The noise that a comparison was formed with: of the cases beyond a limit."""
        beyond = (*FAULTS, Outcome.UNSTABLE_ORACLE)
        cases = [c for c in comparison.cases if any(p.outcome in beyond for p in c.checkpoints)]
        return {c.case_id: self.known[c.case_id] for c in cases if c.case_id in self.known}

    def bisect(
        self,
        candidate: TraceView,
        policy: TolerancePolicy,
        *,
        cases: list[str] | None = None,
        hidden: Callable[[str], bool] | None = None,
    ) -> Mismatch:
        """The first mismatch that the noise of its case does not explain."""
        while True:
            noise: Mapping[str, Mapping[str, float]] = self.known
            found = find_first_mismatch(
                self.oracle, candidate, policy, cases=cases, hidden=hidden, noise=noise
            )
            # Noise explains errors beyond a limit; what is judged exactly has none.
            fresh = found.case_id if found.verdict in FAULTS and found.limit is not None else None
            if fresh is None or fresh in self.known:
                return found
            self.measure({fresh})
            if fresh not in self.known:
                return found
