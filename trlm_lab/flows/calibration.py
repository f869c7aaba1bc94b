"""Stage 5: limits from calibration cases, frozen before the judged cases run."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from trlm_lab.base.interfaces import Runner, Subject, TraceView
from trlm_lab.base.records import Case, CaseSuite, Observation, TolerancePolicy
from trlm_lab.calibrate import (
    NoiseFloor,
    check_disjoint,
    freeze,
    make_policy,
)
from trlm_lab.flows.execution import Ran
from trlm_lab.flows.identity import package_sha256
from trlm_lab.flows.workspace import Workspace

#: The predeclared safety factor over the oracle's own noise (docs/judging).
FACTOR = 4.0


@dataclass(frozen=True)
class Calibrated:
    """A frozen policy and its node."""

    policy: TolerancePolicy
    node: str


def calibrate_limits(
    ws: Workspace,
    label: str,
    oracle: Ran,
    reference: Runner,
    subject: Subject,
    calibration: CaseSuite,
    judged: CaseSuite,
) -> Calibrated:
    """Measure the noise floor of the oracle against float64, and freeze four times it.

    Raises:
        CasesOverlapError: a judged case is also a calibration case.
    """
    check_disjoint(calibration.cases, judged.cases)
    inputs = {
        "oracle": oracle.record.trace_id,
        "subject": dict(subject.ids or {}),
        "suite": calibration.digest,
        "package": package_sha256(),
        "factor": FACTOR,
    }
    row = ws.once(
        f"limits-{label}",
        inputs,
        lambda: _measure(ws, label, oracle, reference, subject, calibration).to_map(),
    )
    policy = TolerancePolicy.from_map(row)
    freeze(policy, ws.out / "policies" / f"{label}.cbor")
    node = ws.store.add(
        "tolerance_policy",
        {"policy_id": policy.policy_id, "policy_blob": ws.store.put_value(policy.to_map())},
        [oracle.node],
    )
    return Calibrated(policy, node)


def _measure(
    ws: Workspace,
    label: str,
    oracle: Ran,
    reference: Runner,
    subject: Subject,
    suite: CaseSuite,
) -> TolerancePolicy:
    floor = NoiseFloor()
    with (
        ws.board.meter(f"float64 reference on {label}", suite.tokens, "tokens") as meter,
        reference.open(subject) as session,
    ):
        for case in suite.cases:
            floor.add(case.case_id, stored(oracle.stored_view, case), session.run(case))
            meter.advance(len(case.token_ids))
        reference_id = session.identity.build_sha256
    return make_policy(
        floor,
        name=f"torch-f32-{label}",
        factor=FACTOR,
        oracle_id=oracle.record.trace_id,
        reference_id=reference_id,
        suite=suite,
    )


def stored(view: TraceView, case: Case) -> Iterator[Observation]:
    """The stored arrays of a case as a stream."""
    for name in view.names(case.case_id):
        yield Observation(name, view.read(case.case_id, name))
