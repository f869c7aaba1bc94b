"""`trlm verify`: receipts, listed files, stored arrays and the claims themselves, re-derived."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from trlm_lab.base.records import Comparison, TolerancePolicy, TraceRecord
from trlm_lab.base.records.node import Node
from trlm_lab.errors import TrlmError
from trlm_lab.receipts import ReceiptStore, VerifyReport, verify_store, walk


def verify_directory(directory: Path) -> VerifyReport:
    """Everything that `receipts.verify_store` checks, then each claim from its evidence."""
    report = verify_store(directory)
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
    return report


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
    bound = {n.metadata.get("policy_id") for n in map(store.get, node.children)}
    if comparison.policy_id not in bound:
        report.fail("COMPARISON_POLICY", where, "judged under another policy than its child")


def _exact(store: ReceiptStore, node_id: str, node: Node, report: VerifyReport) -> None:
    records = [
        TraceRecord.from_map(store.get_value(store.get(c).metadata["trace_blob"]))
        for c in node.children
    ]
    first = _digests(records[0])
    for record in records:
        mine = _digests(record)
        equal = sum(mine.get(key) == sha256 for key, sha256 in first.items())
        if node.metadata["equal"].get(record.engine.name) != equal:
            report.fail(
                "EXACTNESS", f"node {node_id[:12]} {record.engine.name}", f"{equal} digests agree"
            )


def _digests(record: TraceRecord) -> dict[tuple[str, str], str]:
    return {(case.case_id, a.name): a.sha256 for case in record.cases for a in case.arrays}


def _promotion(store: ReceiptStore, node_id: str, node: Node, report: VerifyReport) -> None:
    rows: list[dict[str, Any]] = store.get_value(node.metadata["claims_blob"])
    for row in rows:
        if row["evidence"] not in node.children:
            report.fail("CLAIM_EVIDENCE", f"claim {row['claim']!r}", "its evidence is no child")
    sound = all(r["outcome"] in ("MATCH", "DRIFT", "TIE", "NOT_SUPPORTED") for r in rows)
    if node.metadata["holds"] and not sound:
        report.fail("PROMOTION", f"node {node_id[:12]}", "holds, though a claim does not")


_CHECKS = {
    "tolerance_policy": _policy,
    "trace": _trace,
    "oracle_run": _trace,
    "comparison": _comparison,
    "promotion": _promotion,
}
