"""Stage 5: limits from calibration cases, frozen before the judged cases run."""

from __future__ import annotations

from dataclasses import dataclass

from trlm_lab.backends.reference import ReferenceRunner
from trlm_lab.base.interfaces import Subject, TraceView
from trlm_lab.base.records import CaseSuite, TolerancePolicy
from trlm_lab.calibrate import (
    SAFETY_FACTOR,
    FloorMeter,
    NoiseFloors,
    check_disjoint,
    make_policy,
    trace_stream,
)
from trlm_lab.flows.execution import Ran
from trlm_lab.flows.identity import package_sha256
from trlm_lab.flows.own_drift import MeasuredDrift
from trlm_lab.flows.policy_versions import Versioned, freeze_version
from trlm_lab.flows.workspace import Workspace

#: The float32 profile whose error is measured beside the oracle's.
PROFILE = "scalar-f32-v1"


@dataclass(frozen=True)
class Calibrated:
    """A frozen policy and its node."""

    policy: TolerancePolicy
    node: str


def calibrate_limits(
    ws: Workspace,
    label: str,
    oracle: Ran,
    subject: Subject,
    calibration: CaseSuite,
    judged: CaseSuite,
    drift: MeasuredDrift,
) -> Calibrated:
    """Measure the noise of oracle and profile against float64, and freeze four times it.

    `drift` is how far the oracle was measured to move by itself; no floor is below it.

    Raises:
        CalibrationOverlapError: a judged case is also a calibration case.
        PolicyFileError: a policy frozen here before is damaged.
    """
    inputs = {
        "oracle": oracle.record.trace_id,
        "subject": dict(subject.ids or {}),
        "suite": calibration.digest,
        "package": package_sha256(),
        "factor": SAFETY_FACTOR,
        "drift": drift.record.record_id,
    }
    row = ws.once(
        f"limits-{label}",
        inputs,
        lambda: _measure(ws, label, oracle, subject, calibration, drift).to_map(),
    )
    measured = TolerancePolicy.from_map(row)
    check_disjoint(measured, judged.cases)
    versioned = freeze_version(measured, ws.out / "policies", label)
    if versioned.before is not None and not ws.trusted:
        ws.board.say(f"  limits on {label}: {versioned.words()}")
    policy = versioned.policy
    node = ws.store.add(
        "tolerance_policy",
        {
            "policy_id": policy.policy_id,
            "policy_blob": ws.store.put_value(policy.to_map()),
            **versioned.facts(),
        },
        [oracle.node, drift.node, *_superseded(ws, versioned)],
    )
    return Calibrated(policy, node)


def _superseded(ws: Workspace, versioned: Versioned) -> list[str]:
    """The nodes of the version before; a frozen policy whose node was lost has none."""
    if versioned.before is None:
        return []
    wanted = versioned.before.policy_id
    nodes = ((node_id, ws.store.get(node_id)) for node_id in ws.store)
    return [
        node_id
        for node_id, node in nodes
        if node.type == "tolerance_policy" and node.metadata.get("policy_id") == wanted
    ]


def _measure(
    ws: Workspace,
    label: str,
    oracle: Ran,
    subject: Subject,
    suite: CaseSuite,
    drift: MeasuredDrift,
) -> TolerancePolicy:
    floors, reference_id = measure_floors(ws, oracle.stored_view, subject, suite, label)
    return make_policy(
        floors,
        name=f"torch-f32-{label}",
        oracle_id=oracle.record.trace_id,
        reference_id=reference_id,
        own_drift=drift.own,
    )


def measure_floors(
    ws: Workspace,
    oracle: TraceView,
    subject: Subject,
    suite: CaseSuite,
    label: str,
    *,
    hold: bool = True,
) -> tuple[NoiseFloors, str]:
    """Floors of the oracle and of `scalar-f32-v1`, both against the float64 reference.

    The profile is measured on the NumPy engine alone, so that no engine on trial sets its own bar.
    `hold` keeps decoded weights in memory, which pays for many cases. Returns the floors and the
    build hash of the reference.
    """
    floors = FloorMeter()
    with (
        ws.board.meter(f"float64 reference on {label}", suite.tokens, "tokens") as meter,
        ReferenceRunner("f64-reference", hold=hold).open(subject) as exact,
        ReferenceRunner(PROFILE, hold=hold).open(subject) as profile,
    ):
        for case in suite.cases:
            stream = trace_stream(oracle, case.case_id)
            floors.add(case, stream, exact.run(case), profile.run(case))
            meter.advance(len(case.token_ids))
        return floors.result(), exact.identity.build_sha256
