"""Stage 6: engines against each other bit by bit, and against the oracle within the limits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from trlm_lab.base.records import FAULTS, Comparison, Mismatch
from trlm_lab.bisection.answer import NO_BOUNDARY
from trlm_lab.compare import COMPARATOR, ExactTable, exact_equality, first_element
from trlm_lab.flows.calibration import Calibrated
from trlm_lab.flows.conditioning import Conditioning
from trlm_lab.flows.execution import Ran
from trlm_lab.flows.workspace import Workspace


@dataclass(frozen=True)
class Judged:
    """A comparison against the oracle, its node, and the first mismatch where there is one."""

    comparison: Comparison
    node: str
    mismatch: Mismatch


def judge(
    ws: Workspace, oracle: Ran, candidate: Ran, limits: Calibrated, third: Conditioning
) -> Judged:
    """Compare every checkpoint of every case; never reused, always computed from the arrays.

    Only a trusted workspace (the notebooks of a run) reads what the run has just computed.
    """
    task = candidate.task
    inputs = {"ids": [oracle.record.trace_id, candidate.record.trace_id, limits.policy.policy_id]}
    stage = f"judged-{task.name}"
    row = ws.recall(stage, inputs) if ws.trusted else None
    if row is None:
        ws.board.say(f"compare {task.engine} with the oracle on {task.label}")
        row = ws.remember(stage, inputs, _compare(candidate, limits, third))
    comparison = Comparison.from_map(row["comparison"])
    mismatch = Mismatch.from_map(row["mismatch"])
    node = ws.store.add(
        "comparison",
        {
            "comparator": COMPARATOR,
            "comparison_id": comparison.comparison_id,
            "comparison_blob": ws.store.put_value(comparison.to_map()),
            "outcome": comparison.outcome.value,
            "artifact": task.label,
            # The name may be a command with paths, so it is a blob.
            "engine_blob": ws.store.put_value(task.engine),
            **({"noise_blob": ws.store.put_value(row["noise"])} if row["noise"] else {}),
        },
        [oracle.node, candidate.node, limits.node],
    )
    return Judged(comparison, node, mismatch)


def _compare(candidate: Ran, limits: Calibrated, third: Conditioning) -> dict[str, Any]:
    view = candidate.stored_view
    comparison = third.compare(view, limits.policy)
    if comparison.outcome in FAULTS:
        mismatch = third.bisect(view, limits.policy)
    else:
        mismatch = Mismatch(comparison.outcome, note=NO_BOUNDARY)
    rows, noise = comparison.to_map(), third.used_for(comparison)
    return {"comparison": rows, "noise": noise, "mismatch": mismatch.to_map()}


@dataclass(frozen=True)
class Exactness:
    """Digests of the engines of one exact profile side by side, and the node that says so."""

    artifact: str
    profile: str
    table: ExactTable
    node: str

    @property
    def engines(self) -> tuple[str, ...]:
        """Engines; the first is the one compared with."""
        return self.table.engines

    @property
    def equal(self) -> dict[str, int]:
        """How many arrays of each engine equal the first engine's."""
        return {row["engine"]: row["equal"] for row in self.table.counts()}

    @property
    def total(self) -> int:
        """Arrays compared."""
        return len(self.table.rows)

    def first_parting(self, engine: str) -> str:
        """`case array` of the first difference in ladder order, or empty."""
        return self.table.first_parting(engine)

    def rows(self) -> list[dict[str, Any]]:
        """Rows for the table and the figure."""
        named = {"artifact": self.artifact, "profile": self.profile}
        return [{**named, **row} for row in self.table.counts()]


def _say_partings(ws: Workspace, table: ExactTable, runs: dict[str, Ran]) -> None:
    """Tell where engines part; down to the element where both kept their arrays."""
    for parting in table.partings():
        first, other = (runs[name].view for name in parting.engines)
        found = None if first is None or other is None else first_element(parting, first, other)
        place = f" at {list(found.index)}: {' and '.join(found.bits)}" if found else ""
        ws.board.say(
            f"{' and '.join(parting.engines)} part in {parting.case_id} {parting.name}{place}"
        )


def exactness(ws: Workspace, label: str, runs: list[Ran]) -> Exactness:
    """Compare digests of every array of every case across engines of one exact profile."""
    table = exact_equality({ran.task.engine: ran.record for ran in runs})
    _say_partings(ws, table, {ran.task.engine: ran for ran in runs})
    node = ws.store.add(
        "comparison",
        {
            "comparator": COMPARATOR,
            "artifact": label,
            "outcome": table.outcome.value,
            "engines": list(table.engines),
            "equal": {row["engine"]: row["equal"] for row in table.counts()},
            "total": len(table.rows),
            "exactness_blob": ws.store.put_value(table.to_map()),
        },
        [ran.node for ran in runs],
    )
    return Exactness(label, runs[0].record.engine.profile, table, node)
