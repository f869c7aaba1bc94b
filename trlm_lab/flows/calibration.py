"""Stage 5: limits from calibration cases, frozen before the judged cases run."""

from __future__ import annotations

from dataclasses import dataclass

from trlm_lab.base.interfaces import Runner, Subject
from trlm_lab.base.records import CaseSuite, TolerancePolicy
from trlm_lab.calibrate import (
    SAFETY_FACTOR,
    FloorMeter,
    check_disjoint,
    freeze,
    make_policy,
    trace_stream,
)
from trlm_lab.flows.execution import Ran
from trlm_lab.flows.identity import package_sha256
from trlm_lab.flows.workspace import Workspace


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
        CalibrationOverlapError: a judged case is also a calibration case.
    """
    inputs = {
        "oracle": oracle.record.trace_id,
        "subject": dict(subject.ids or {}),
        "suite": calibration.digest,
        "package": package_sha256(),
        "factor": SAFETY_FACTOR,
    }
    row = ws.once(
        f"limits-{label}",
        inputs,
        lambda: _measure(ws, label, oracle, reference, subject, calibration).to_map(),
    )
    policy = TolerancePolicy.from_map(row)
    check_disjoint(policy, judged.cases)
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
    view = oracle.stored_view
    floors = FloorMeter()
    with (
        ws.board.meter(f"float64 reference on {label}", suite.tokens, "tokens") as meter,
        reference.open(subject) as session,
    ):
        for case in suite.cases:
            floors.add(case, trace_stream(view, case.case_id), session.run(case))
            meter.advance(len(case.token_ids))
        reference_id = session.identity.build_sha256
    return make_policy(
        floors.result(),
        name=f"torch-f32-{label}",
        oracle_id=oracle.record.trace_id,
        reference_id=reference_id,
    )
