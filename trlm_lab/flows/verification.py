"""`trlm verify`: receipts, listed files, stored arrays and the claims themselves, re-derived."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from trlm_lab.base.records import (
    CheckpointComparison,
    Comparison,
    Node,
    Outcome,
    TolerancePolicy,
    TraceRecord,
)
from trlm_lab.base.records.outcome import worst
from trlm_lab.compare import exact_equality
from trlm_lab.errors import TrlmError
from trlm_lab.receipts import (
    Progress,
    ReceiptStore,
    VerifyReport,
    silent,
    verify_store,
    walk,
)
from trlm_lab.traces import TraceStore


def verify_directory(directory: Path, progress: Progress = silent) -> VerifyReport:
    """Everything that `receipts.verify_store` checks, then each claim from its evidence."""
    report = verify_store(directory, progress)
    if report.root is None or not report.sound:
        return report
    store = ReceiptStore(directory)
    for node_id, node in walk(store, report.root):
        check = _CHECKS.get(node.type)
        if check is None:
            continue
        try:
            check(store, node_id, node, report)
        except (TrlmError, KeyError, TypeError, ValueError) as error:
            report.fail("CLAIM_UNREADABLE", f"node {node_id[:12]} ({node.type})", f"{error}")
    _stored_traces(directory, store, report)
    return report


def _stored_traces(directory: Path, store: ReceiptStore, report: VerifyReport) -> None:
    """Every stored array against its digest, and every trace against a node that speaks of it."""
    assert report.root is not None
    spoken = {n.metadata.get("trace_id") for _, n in walk(store, report.root)}
    for path in sorted((directory / "traces").glob("*.zarr")):
        try:
            trace_id = TraceStore(path).verify().trace_id
        except TrlmError as error:
            report.fail(error.code, error.where, error.detail)
            continue
        if trace_id not in spoken:
            report.fail("TRACE_UNSPOKEN", str(path), "no node of the receipt has this trace id")


def _policy(store: ReceiptStore, node_id: str, node: Node, report: VerifyReport) -> None:
    policy = TolerancePolicy.from_map(store.get_value(node.metadata["policy_blob"]))
    if policy.policy_id != node.metadata["policy_id"]:
        report.fail("POLICY_ID", f"node {node_id[:12]}", "the policy's content has another id")
    for entry in policy.entries:
        if entry.limit > policy.factor * max(entry.floor, entry.algorithm):
            where = f"node {node_id[:12]} {entry.checkpoint}"
            report.fail("POLICY_LIMIT", where, "is above factor x the measured noise")


def _trace(store: ReceiptStore, node_id: str, node: Node, report: VerifyReport) -> None:
    record = TraceRecord.from_map(store.get_value(node.metadata["trace_blob"]))
    if record.trace_id != node.metadata["trace_id"]:
        report.fail("TRACE_ID", f"node {node_id[:12]}", "the record's content has another id")


def _comparison(store: ReceiptStore, node_id: str, node: Node, report: VerifyReport) -> None:
    if "comparison_blob" in node.metadata:
        _bounded(store, node_id, node, report)
    else:
        _exact(store, node_id, node, report)


def _bounded(store: ReceiptStore, node_id: str, node: Node, report: VerifyReport) -> None:
    comparison = Comparison.from_map(store.get_value(node.metadata["comparison_blob"]))
    where = f"node {node_id[:12]} (comparison)"
    if comparison.comparison_id != node.metadata["comparison_id"]:
        report.fail("COMPARISON_ID", where, "the comparison's content has another id")
    if comparison.outcome.value != node.metadata["outcome"]:
        report.fail("COMPARISON_OUTCOME", where, "the worst checkpoint says otherwise")
    children = [store.get(child) for child in node.children]
    policies = [n for n in children if n.metadata.get("policy_id") == comparison.policy_id]
    if not policies:
        report.fail("COMPARISON_POLICY", where, "judged under another policy than its child")
        return
    traces = {n.metadata.get("trace_id") for n in children}
    if {comparison.reference_id, comparison.candidate_id} - traces:
        report.fail("COMPARISON_TRACES", where, "compares other traces than its children")
    policy = TolerancePolicy.from_map(store.get_value(policies[0].metadata["policy_blob"]))
    for case in comparison.cases:
        for row in case.checkpoints:
            if not _within(row, policy):
                place = f"{where} {case.case_id} {row.checkpoint}"
                report.fail("COMPARISON_ROW", place, "the outcome is not that of its figures")


def _within(row: CheckpointComparison, policy: TolerancePolicy) -> bool:
    """Whether a sound outcome has the policy's limit and an error within it."""
    entry = policy.entry(row.checkpoint)
    if entry is not None and row.limit != entry.limit:
        return False
    if row.outcome not in (Outcome.MATCH, Outcome.DRIFT) or row.metrics is None:
        return True
    if row.metrics.bit_equal:
        return True
    bound = entry.floor if entry and row.outcome is Outcome.MATCH else row.limit
    return bound is not None and row.metrics.max_abs <= bound


def _exact(store: ReceiptStore, node_id: str, node: Node, report: VerifyReport) -> None:
    records = [
        TraceRecord.from_map(store.get_value(store.get(c).metadata["trace_blob"]))
        for c in node.children
    ]
    table = exact_equality(dict(zip(node.metadata["engines"], records, strict=True)))
    stated = {k: node.metadata[k] for k in ("outcome", "equal", "total")}
    derived = {
        "outcome": table.outcome.value,
        "equal": {row["engine"]: row["equal"] for row in table.counts()},
        "total": len(table.rows),
    }
    if stated != derived:
        report.fail("EXACTNESS", f"node {node_id[:12]}", f"the digests give {derived}")


def _promotion(store: ReceiptStore, node_id: str, node: Node, report: VerifyReport) -> None:
    rows: list[dict[str, Any]] = store.get_value(node.metadata["claims_blob"])
    for row in rows:
        where = (
            f"claim {row['level']} {row['claim']!r} of {row['engine']} {row['artifact']}".strip()
        )
        if row["evidence"] not in node.children:
            report.fail("CLAIM_EVIDENCE", where, "its evidence is no child of the promotion")
            continue
        derived = _derived(store, row)
        if derived is not None and derived != row["outcome"]:
            report.fail("CLAIM_OUTCOME", where, f"its evidence says {derived}")
    sound = all(r["outcome"] in _HOLDING for r in rows)
    runs = [n for n in map(store.get, node.children) if n.type == "fault_run"]
    named = all(n.metadata["expected"] == n.metadata["named"] for n in runs)
    if node.metadata["holds"] != (sound and named):
        report.fail("PROMOTION", f"node {node_id[:12]}", "`holds` is not what its claims say")


#: Outcomes that do not stop a promotion; UNSTABLE_ORACLE is shown, and is nobody's fault.
_HOLDING = ("MATCH", "DRIFT", "TIE", "NOT_SUPPORTED", "UNSTABLE_ORACLE")


def _derived(store: ReceiptStore, row: dict[str, Any]) -> str | None:
    """The outcome that a claim's evidence gives, where the evidence can be read for it."""
    evidence = store.get(row["evidence"])
    facts = evidence.metadata
    if "comparison_blob" in facts:
        comparison = Comparison.from_map(store.get_value(facts["comparison_blob"]))
        logits = row["level"].startswith("C8")
        points = [p for c in comparison.cases for p in c.checkpoints]
        return worst([p.outcome for p in points if (p.checkpoint == "logits") == logits]).value
    if "equal" in facts:
        return "MATCH" if facts["equal"].get(row["engine"]) == facts["total"] else "WRONG"
    if evidence.type == "inspection":
        return "MATCH" if facts["findings"] == 0 else "WRONG"
    if evidence.type == "probe":
        return "MATCH" if facts["plain"] == facts["watched"] else "WRONG"
    return None


_CHECKS = {
    "tolerance_policy": _policy,
    "trace": _trace,
    "oracle_run": _trace,
    "comparison": _comparison,
    "promotion": _promotion,
}
