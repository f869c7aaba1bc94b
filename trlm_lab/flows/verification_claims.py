"""The promotion: its claims are those that its evidence makes."""

from __future__ import annotations

from typing import Any

from trlm_lab.flows.claim_rows import Claim, claims_of, holds
from trlm_lab.flows.plan import PLAN_FILE
from trlm_lab.flows.report import headline
from trlm_lab.flows.template_nodes import TEMPLATE_TYPES
from trlm_lab.flows.verification_dossier import Dossier
from trlm_lab.flows.verification_plan import Planned
from trlm_lab.flows.verification_rendered import check_rendered_there
from trlm_lab.flows.verification_templates import check_template_there
from trlm_lab.flows.verification_tokenized import check_tokenized_there


def check_promotion(dossier: Dossier, node_id: str) -> None:
    """Derive the claims and the planned evidence; compare them with what is stated."""
    plan = dossier.plan
    if plan is None:
        detail = f"the receipt lists no readable {PLAN_FILE}, so nobody knows what was asked for"
        dossier.report.fail("PLAN_MISSING", str(dossier.directory / PLAN_FILE), detail)
        return
    graph, node = dossier.graph, dossier.graph.node(node_id)
    derived = claims_of(graph, node.children, plan)
    _check_rows(dossier, node_id, derived)
    _check_children(dossier, node_id, derived)
    check_template_there(dossier, node_id)
    check_rendered_there(dossier, node_id, plan)
    check_tokenized_there(dossier, node_id, plan)
    if node.metadata["holds"] is not holds(graph, derived, node.children):
        dossier.fail("PROMOTION", node_id, "`holds` is not what its claims say")
    Planned(dossier, node_id, plan).check()
    _check_page(dossier, node_id, derived)


def _key(row: dict[str, Any]) -> tuple[str, ...]:
    return tuple(str(row[name]) for name in ("level", "claim", "engine", "artifact"))


def _check_rows(dossier: Dossier, node_id: str, derived: list[Claim]) -> None:
    """Claims left out, added, or other than their evidence."""
    stated = dossier.graph.value(node_id, "claims_blob")
    ours = {_key(claim.row()): claim.row() for claim in derived}
    theirs = {_key(row): row for row in stated}
    for key in ours.keys() - theirs.keys():
        dossier.fail("CLAIM_LEFT_OUT", node_id, "the evidence makes this claim", " ".join(key))
    for key in theirs.keys() - ours.keys():
        dossier.fail("CLAIM_ADDED", node_id, "no evidence makes this claim", " ".join(key))
    for key in ours.keys() & theirs.keys():
        odd = [k for k, value in ours[key].items() if theirs[key].get(k) != value]
        if odd or ours[key].keys() != theirs[key].keys():
            value = ours[key].get(odd[0]) if odd else "no further field"
            detail = f"{', '.join(odd)}: its evidence gives {value!r:.90}"
            dossier.fail("CLAIM_CHANGED", node_id, detail, " ".join(key))
    if len(stated) != len(theirs) or (list(ours) != list(theirs) and ours.keys() == theirs.keys()):
        dossier.fail("CLAIM_CHANGED", node_id, "a claim occurs twice, or in another order")


def _check_children(dossier: Dossier, node_id: str, derived: list[Claim]) -> None:
    """Every child is evidence of some claim, a planted fault, or the chat template."""
    wanted = {claim.evidence for claim in derived}
    wanted |= set(dossier.graph.children(node_id, "fault_run", *TEMPLATE_TYPES))
    for child in dossier.graph.node(node_id).children:
        if child not in wanted:
            detail = f"{dossier.place(child)} is evidence of no claim"
            dossier.fail("EVIDENCE_FOREIGN", node_id, detail)


def _check_page(dossier: Dossier, node_id: str, derived: list[Claim]) -> None:
    """The page that people read names this promotion and sums up these claims."""
    page = dossier.graph.store.blobs.get(dossier.graph.node(dossier.root).metadata["report_blob"])
    for text in (node_id, headline(derived)):
        if text.encode() not in page:
            dossier.fail("REPORT_TEXT", dossier.root, f"the page does not say {text!r}")
