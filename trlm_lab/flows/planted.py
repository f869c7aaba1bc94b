"""A named fault planted in a running engine, judged against the oracle under the frozen policy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from trlm_lab.backends.faulty import FaultyRunner
from trlm_lab.base.interfaces import Subject
from trlm_lab.base.records import EffectiveConfig, Mismatch
from trlm_lab.flows.calibration import Calibrated
from trlm_lab.flows.conditioning import Conditioning
from trlm_lab.flows.execution import Ran
from trlm_lab.flows.identity import package_sha256
from trlm_lab.flows.workspace import Workspace
from trlm_lab.traces import MemoryTrace


@dataclass(frozen=True)
class Planted:
    """The fault, where the catalogue expects it, where the judge found it, and the node."""

    fault: str
    expected: str
    mismatch: Mismatch
    node: str

    @property
    def named(self) -> bool:
        """Whether the judge named exactly the expected boundary."""
        return self.mismatch.boundary == self.expected


def plant(
    ws: Workspace,
    fault: str,
    subject: Subject,
    oracle: Ran,
    limits: Calibrated,
    third: Conditioning,
    config: EffectiveConfig,
    *,
    tokens: int = 24,
) -> Planted:
    """Run the faulty engine on the longest judged case of at most `tokens` tokens and bisect."""
    inputs = {
        "fault": fault,
        "subject": dict(subject.ids or {}),
        "ids": [oracle.record.trace_id, limits.policy.policy_id],
        "package": package_sha256(),
    }
    row = ws.recall("planted", inputs) if ws.trusted else None
    if row is None:
        row = ws.remember("planted", inputs, _run(ws, fault, subject, limits, third, tokens))
    mismatch = Mismatch.from_map(row)
    expected = FaultyRunner(fault).planting(config).boundary
    found = ws.store.add("mismatch", {"answer_blob": ws.store.put_value(row)}, [])
    node = ws.store.add(
        "fault_run",
        {"fault": fault, "expected": expected, "named": mismatch.boundary},
        [oracle.node, limits.node, found],
    )
    return Planted(fault, expected, mismatch, node)


def _run(
    ws: Workspace,
    fault: str,
    subject: Subject,
    limits: Calibrated,
    third: Conditioning,
    tokens: int,
) -> dict[str, Any]:
    short = [c for c in third.suite.cases if len(c.token_ids) <= tokens]
    case = max(short, key=lambda c: len(c.token_ids))
    ws.board.say(f"plant {fault} in the running reference engine, case {case.case_id}")
    with FaultyRunner(fault).open(subject) as session:
        trace = MemoryTrace(session.identity, dict(subject.ids or {}))
        trace.write_case(case, session.run(case))
    return third.bisect(trace, limits.policy, cases=[case.case_id]).to_map()
