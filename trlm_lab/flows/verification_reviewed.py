"""The files that a person reviewed: those the plan names are those the evidence rests on."""

from __future__ import annotations

from collections import Counter

from trlm_lab.acquire import TreeProfile, parse_decision, parse_tree_profile
from trlm_lab.flows.plan import RunPlan
from trlm_lab.flows.reviewed_files import kept_file
from trlm_lab.flows.verification_dossier import Dossier


def check_reviewed(dossier: Dossier, node_id: str, plan: RunPlan) -> None:
    """Resolutions, licence decision, tree profile and exceptions of the scan, each by content."""
    _resolutions(dossier, node_id, plan)
    _scans(dossier, plan)
    acquisition = dossier.graph.child(
        dossier.graph.child(node_id, "effective_config"), "acquisition"
    )
    _licence(dossier, acquisition, plan)
    _tree_profile(dossier, acquisition, plan)


def _resolutions(dossier: Dossier, node_id: str, plan: RunPlan) -> None:
    """The configuration rests on the planned resolutions, each once."""
    config = dossier.graph.child(node_id, "effective_config")
    nodes = dossier.graph.children(config, "resolution")
    used = Counter(dossier.graph.node(n).metadata["file_sha256"] for n in nodes)
    if used != Counter(plan.resolutions):
        detail = f"the plan names the resolutions {list(plan.resolutions)}, used: {list(used)}"
        dossier.fail("REVIEWED", config, detail)


def _scans(dossier: Dossier, plan: RunPlan) -> None:
    """Every scan excused what the planned file excuses."""
    for scan in dossier.of("secret_scan"):
        if dossier.graph.node(scan).metadata["exceptions"] != plan.secret_exceptions:
            dossier.fail("REVIEWED", scan, "its exceptions are not those that the plan names")


def _licence(dossier: Dossier, acquisition: str, plan: RunPlan) -> None:
    """A planned decision is, word for word, the one on record."""
    file = kept_file(plan.licence_decision, dossier.directory)
    licence = dossier.graph.child(acquisition, "licence")
    recorded = dossier.graph.value(licence, "decision_blob")
    if file is not None and parse_decision(file).row != recorded:
        dossier.fail("REVIEWED", licence, "its decision is not that of the planned file")


def _tree_profile(dossier: Dossier, acquisition: str, plan: RunPlan) -> None:
    """What was left out of the repository is what the planned profile leaves out."""
    file = kept_file(plan.tree_profile, dossier.directory)
    provenance = dossier.graph.child(acquisition, "provenance")
    hub = dossier.graph.value(provenance, "statement_blob").get("hub") or {}
    planned = parse_tree_profile(file) if file is not None else TreeProfile()
    if hub.get("tree_profile", TreeProfile().to_map()) != planned.to_map():
        dossier.fail("REVIEWED", provenance, "its tree profile is not that of the planned file")
