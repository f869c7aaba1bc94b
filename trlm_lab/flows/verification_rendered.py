"""Rendered conversations in a receipt: source and reference render them again, and agree."""

from __future__ import annotations

from trlm_lab.flows.plan import RunPlan
from trlm_lab.flows.template_claims import RENDERERS, rendered_table, template_of
from trlm_lab.flows.verification_dossier import Dossier


def check_rendered(dossier: Dossier, node_id: str) -> None:
    """Every conversation of the list is there, with what source and reference answer."""
    graph = dossier.graph
    node = graph.child(node_id, "template_ir")
    stated = graph.value(node_id, "rendered_blob")
    source, ir = template_of(graph.store, node)
    derived = rendered_table(source, ir, stated["variables"], ["reference"])["cases"]
    names = [row["case"] for row in stated["cases"]]
    if names != [row["case"] for row in derived]:
        dossier.fail("RECORD_ID", node_id, "the conversations are not those of the list", "cases")
        return
    engines = set(stated["cases"][0]["engines"])
    for theirs, ours in zip(stated["cases"], derived, strict=True):
        known = {**ours, "engines": {**theirs["engines"], **ours["engines"]}}
        if theirs != known or set(theirs["engines"]) != engines:
            detail = f"{ours['case']}: source and reference answer otherwise than is stated"
            dossier.fail("RECORD_ID", node_id, detail, "rendered_blob")


def check_rendered_there(dossier: Dossier, promotion: str, plan: RunPlan) -> None:
    """A compiled template has its conversations, rendered by the reference and planned engines."""
    graph = dossier.graph
    probes = graph.children(promotion, "probe")
    tables = [p for p in probes if "rendered_blob" in graph.node(p).metadata]
    templates = graph.children(promotion, "template_ir")
    if [graph.child(table, "template_ir") for table in tables] != templates:
        detail = "the compiled template and the table of rendered conversations belong together"
        dossier.fail("EVIDENCE_LEFT_OUT", promotion, detail, "C2")
    wanted = {"reference", *(engine for engine in plan.exact if engine in RENDERERS)}
    for table in tables:
        value = graph.value(table, "rendered_blob")
        found = {*value["cases"][0]["engines"], *value["missing"]}
        if found != wanted:
            detail = f"rendered by {sorted(found)}, planned are {sorted(wanted)}"
            dossier.fail("EVIDENCE_LEFT_OUT", promotion, detail, "C2")
