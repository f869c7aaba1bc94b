"""Frozen policies: the factor, every limit, and the calibration that they rest on."""

from __future__ import annotations

import math

from trlm_lab.base.names import is_checkpoint
from trlm_lab.base.records import CaseSuite, PolicyEntry, TolerancePolicy
from trlm_lab.calibrate import SAFETY_FACTOR, calibration_key, load_policy
from trlm_lab.errors import TrlmError
from trlm_lab.flows.verification_dossier import Dossier
from trlm_lab.oracle.drift import OracleDrift

#: How `calibrate.make_policy` marks a limit that a declared ceiling holds down.
CEILING = "; held at the ceiling "


def check_policy(dossier: Dossier, node_id: str) -> None:
    """Every limit follows from the measured noise, and the noise is of the calibration run."""
    policy = dossier.graph.policy(node_id)
    if policy.factor > SAFETY_FACTOR or policy.factor < 1:
        detail = f"the factor is {policy.factor:g}, declared is at most {SAFETY_FACTOR:g}"
        dossier.fail("POLICY_FACTOR", node_id, detail)
    for entry in policy.entries:
        problem = _limit_problem(entry, policy.factor)
        if problem:
            dossier.fail("POLICY_LIMIT", node_id, problem, entry.checkpoint)
    _check_grounds(dossier, node_id, policy)
    _check_drift(dossier, node_id, policy)


def _limit_problem(entry: PolicyEntry, factor: float) -> str:
    """Why a limit is not factor x the larger noise, or that held at its ceiling; or empty."""
    derived = factor * max(entry.floor, entry.algorithm)
    held = CEILING in entry.reason and entry.limit < derived
    if entry.limit == derived or held:
        return ""
    return f"the limit {entry.limit!r} is not {factor:g} x the measured noise, {derived!r}"


def _check_grounds(dossier: Dossier, node_id: str, policy: TolerancePolicy) -> None:
    """Cases, checkpoints and element counts are those of the oracle's calibration run."""
    graph = dossier.graph
    oracle = graph.child(node_id, "oracle_run")
    record, cases = graph.trace(oracle), graph.suite(oracle)
    grounds = {
        "oracle_id": (policy.oracle_id, graph.node(oracle).metadata["trace_id"]),
        "calibration_suite": (policy.calibration_suite, CaseSuite("c", cases).digest),
        "calibration_cases": (policy.calibration_cases, tuple(map(calibration_key, cases))),
    }
    for name, (stated, derived) in grounds.items():
        if stated != derived:
            dossier.fail("POLICY_GROUNDS", node_id, "is not that of the calibration run", name)
    elements: dict[str, int] = {}
    for array in (a for case in record.cases for a in case.arrays if is_checkpoint(a.name)):
        elements[array.name] = elements.get(array.name, 0) + math.prod(array.shape)
    if {e.checkpoint for e in policy.entries} != set(elements):
        odd = sorted({e.checkpoint for e in policy.entries} ^ set(elements))[0]
        detail = f"entries and calibration run show other checkpoints, among them {odd}"
        dossier.fail("POLICY_GROUNDS", node_id, detail)
        return
    for entry in policy.entries:
        if f" over {elements[entry.checkpoint]} elements of {len(cases)} " not in entry.reason:
            detail = "the reason states another number of elements or cases than were run"
            dossier.fail("POLICY_GROUNDS", node_id, detail, entry.checkpoint)


def _check_drift(dossier: Dossier, node_id: str, policy: TolerancePolicy) -> None:
    """The drift in every entry is that of the record below the policy, of a calibration case."""
    graph = dossier.graph
    nodes = graph.children(node_id, "observation")
    if not policy.drift_id and not nodes:
        return
    if len(nodes) != 1 or graph.node(nodes[0]).metadata.get("drift_id") != policy.drift_id:
        detail = "the policy and its observation of the oracle's own drift name different records"
        dossier.fail("POLICY_DRIFT", node_id, detail)
        return
    record = OracleDrift.from_map(graph.value(nodes[0], "drift_blob"))
    cases = {case.digest for case in graph.suite(graph.child(node_id, "oracle_run"))}
    facts = graph.node(nodes[0]).metadata
    for holds, detail in (
        (record.record_id == policy.drift_id, "the record has another id"),
        (record.repeats and facts["repeats"], "the oracle does not repeat itself"),
        (set(record.cases) <= cases, "a case of the record is no calibration case"),
        (
            graph.child(nodes[0], "oracle_run") == graph.child(node_id, "oracle_run"),
            "the record is of another oracle run",
        ),
    ):
        if not holds:
            dossier.fail("POLICY_DRIFT", node_id, detail)
    moved = record.moved()
    for entry in policy.entries:
        if entry.drift != moved.get(entry.checkpoint, 0.0):
            detail = f"the drift {entry.drift!r} is not the one that was measured"
            dossier.fail("POLICY_DRIFT", node_id, detail, entry.checkpoint)


def check_policy_files(dossier: Dossier) -> None:
    """The frozen files that people read are the policies of the receipt, each with its twin."""
    known = {
        dossier.graph.node(p).metadata.get("policy_id") for p in dossier.of("tolerance_policy")
    }
    for path in sorted((dossier.directory / "policies").glob("*.cbor")):
        try:
            policy = load_policy(path)
        except TrlmError as error:
            dossier.report.fail_with(error)
            continue
        if policy.policy_id not in known:
            detail = "no policy node of the receipt has this policy"
            dossier.report.fail("POLICY_UNSPOKEN", str(path), detail)
