"""`trlm verify`: receipts, listed files, stored arrays, each claim derived from its evidence."""

from __future__ import annotations

from pathlib import Path

from trlm_lab.base.collector import collector_at_rest
from trlm_lab.flows.plan import PLAN_FILE
from trlm_lab.flows.verification_claims import check_promotion
from trlm_lab.flows.verification_comparisons import check_comparison
from trlm_lab.flows.verification_dossier import UNREADABLE, Dossier
from trlm_lab.flows.verification_policies import check_policy, check_policy_files
from trlm_lab.flows.verification_records import RECORD_TYPES, check_record
from trlm_lab.flows.verification_siblings import check_siblings
from trlm_lab.flows.verification_traces import check_run, check_stored_traces
from trlm_lab.receipts import Progress, VerifyReport, silent, verify_store

CONFORMANCE = "conformance"
LADDER = (
    "every rung follows from its hashes, and each step between two stored arrays was taken again; "
    "products and the token rest on hashes alone"
)


def verify_directory(
    directory: Path, progress: Progress = silent, *, recompute: bool = False
) -> VerifyReport:
    """Everything that `receipts.verify_store` checks, then each claim from its evidence.

    By default outcomes follow from the recorded figures, the policies and the digests, and what
    excuses an error is judged again from the arrays; with `recompute` every figure is.
    Never raises on bad content.
    """
    with collector_at_rest():
        return _verified(directory, progress, recompute)


def _verified(directory: Path, progress: Progress, recompute: bool) -> VerifyReport:
    report = verify_store(directory, progress)
    if report.root is None or not report.sound:
        report.proves = "nothing: the store itself is not whole"
        return report
    try:
        dossier = Dossier.open(directory, report, report.root, progress)
    except UNREADABLE as error:
        report.fail("EVIDENCE_UNREADABLE", f"under root {report.root[:12]}", str(error))
        return report
    _say_kind(dossier)
    check_dossier(dossier, recompute=recompute)
    _say_what_was_settled(dossier)
    return report


def _say_kind(dossier: Dossier) -> None:
    """What kind of receipt this is, and what a sound verdict will mean."""
    report, root_type = dossier.report, dossier.type(dossier.root)
    if dossier.promotion is not None:
        report.kind = CONFORMANCE
        report.proves = "every claim of the promotion follows from the evidence in this directory"
        return
    report.kind = root_type
    report.proves = f"hashes and records only: the root is a {root_type}, no promotion is proven"
    if root_type == "ladder_rung":
        report.proves = LADDER
    if root_type == "report" or (dossier.directory / PLAN_FILE).exists():
        detail = f"the root is a {root_type} and no report over one promotion"
        dossier.fail("NO_PROMOTION", dossier.root, detail)


def check_dossier(dossier: Dossier, *, recompute: bool) -> None:
    """Records before what rests on them; arrays before the comparisons that read them."""
    check_stored_traces(dossier)
    for node_id in dossier.of(*RECORD_TYPES):
        with dossier.reading(dossier.place(node_id)):
            check_record(dossier, node_id)
    for node_id in dossier.of("trace", "oracle_run"):
        with dossier.reading(dossier.place(node_id)):
            check_run(dossier, node_id)
    for node_id in dossier.of("tolerance_policy"):
        with dossier.reading(dossier.place(node_id)):
            check_policy(dossier, node_id)
    check_policy_files(dossier)
    for node_id in dossier.of("comparison"):
        with dossier.reading(dossier.place(node_id)):
            check_comparison(dossier, node_id, recompute=recompute)
    check_siblings(dossier)
    if recompute:
        _say_what_was_not(dossier)
    if dossier.promotion is not None:
        with dossier.reading(dossier.place(dossier.promotion)):
            check_promotion(dossier, dossier.promotion)


def _say_what_was_settled(dossier: Dossier) -> None:
    """Every reviewed decision between contradicting declarations, as its own statement says it."""
    for node_id in dossier.of("resolution"):
        statement = dossier.graph.node(node_id).metadata["statement"]
        dossier.report.note("CONFLICT_SETTLED", dossier.place(node_id), statement)


def _say_what_was_not(dossier: Dossier) -> None:
    """Name the figures that no stored array gives again."""
    for node_id in dossier.of("tolerance_policy"):
        detail = (
            "floors and profile errors are taken from the record: the arrays of the float64 "
            "reference and of the profile's calibration run are not stored"
        )
        dossier.report.note("NOT_RECOMPUTED", dossier.place(node_id), detail)
    for node_id in dossier.of("comparison"):
        if "noise_blob" in dossier.graph.node(node_id).metadata:
            detail = "the third run's noise is taken from the record: its arrays are not stored"
            dossier.report.note("NOT_RECOMPUTED", dossier.place(node_id), detail)
