"""Stage 6: engines against each other bit by bit, and against the oracle within the limits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from trlm_lab.base.names import is_checkpoint
from trlm_lab.base.records import Comparison, Mismatch
from trlm_lab.bisection import find_first_mismatch
from trlm_lab.compare import compare_traces
from trlm_lab.flows.calibration import Calibrated
from trlm_lab.flows.execution import Ran
from trlm_lab.flows.workspace import Workspace


@dataclass(frozen=True)
class Judged:
    """A comparison against the oracle, its node, and the first mismatch where there is one."""

    comparison: Comparison
    node: str
    mismatch: Mismatch


def judge(ws: Workspace, oracle: Ran, candidate: Ran, limits: Calibrated) -> Judged:
    """Compare every checkpoint of every case; never reused, always computed from the arrays.

    Only a trusted workspace (the notebooks of a run) reads what the run has just computed.
    """
    task = candidate.task
    inputs = {"ids": [oracle.record.trace_id, candidate.record.trace_id, limits.policy.policy_id]}
    stage = f"judged-{task.name}"
    row = ws.recall(stage, inputs) if ws.trusted else None
    if row is None:
        ws.board.say(f"compare {task.engine} with the oracle on {task.label}")
        row = ws.remember(stage, inputs, _compare(oracle, candidate, limits))
    comparison = Comparison.from_map(row["comparison"])
    mismatch = Mismatch.from_map(row["mismatch"])
    node = ws.store.add(
        "comparison",
        {
            "comparison_id": comparison.comparison_id,
            "comparison_blob": ws.store.put_value(comparison.to_map()),
            "outcome": comparison.outcome.value,
        },
        [oracle.node, candidate.node, limits.node],
    )
    return Judged(comparison, node, mismatch)


def _compare(oracle: Ran, candidate: Ran, limits: Calibrated) -> dict[str, Any]:
    reference, view = oracle.stored_view, candidate.stored_view
    comparison = compare_traces(reference, view, limits.policy)
    mismatch = find_first_mismatch(reference, view, limits.policy)
    return {"comparison": comparison.to_map(), "mismatch": mismatch.to_map()}


@dataclass(frozen=True)
class Exactness:
    """How many checkpoints of each engine have the digest of the first engine's."""

    engines: tuple[str, ...]
    total: int
    equal: dict[str, int]
    partings: dict[str, str]
    node: str

    def first_parting(self, engine: str) -> str:
        """`case checkpoint` of the first difference in ladder order, or empty."""
        return self.partings.get(engine, "")

    def rows(self, artifact: str) -> list[dict[str, Any]]:
        """Rows for the table and the figure."""
        return [
            {"engine": e, "artifact": artifact, "equal": self.equal[e], "total": self.total}
            for e in self.engines
        ]


def exactness(ws: Workspace, label: str, runs: list[Ran]) -> Exactness:
    """Compare digests of all checkpoints of all cases across engines of one exact profile."""
    first = runs[0].record
    keys = [
        (case.case_id, name) for case in first.cases for name in case.names if is_checkpoint(name)
    ]
    equal: dict[str, int] = {}
    partings: dict[str, str] = {}
    for ran in runs:
        count = 0
        for case_id, name in keys:
            if _digest(ran, case_id, name) == first.case(case_id)[name].sha256:
                count += 1
            else:
                partings.setdefault(ran.task.engine, f"{case_id} {name}")
        equal[ran.task.engine] = count
    node = ws.store.add(
        "comparison",
        {"artifact": label, "equal": equal, "total": len(keys), "partings": partings},
        [ran.node for ran in runs],
    )
    names = tuple(ran.task.engine for ran in runs)
    return Exactness(names, len(keys), equal, partings, node)


def _digest(ran: Ran, case_id: str, name: str) -> str | None:
    try:
        return ran.record.case(case_id)[name].sha256
    except KeyError:
        return None
