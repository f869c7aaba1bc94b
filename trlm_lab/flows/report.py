"""The HTML report of a run: what was judged, the verdict, the evidence, and what it leaves open."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trlm_lab import __version__
from trlm_lab.base.blobs import write_atomically
from trlm_lab.base.records import FAULTS, SOUND, Outcome
from trlm_lab.flows import report_evidence as evidence
from trlm_lab.flows import report_identity as identity
from trlm_lab.flows.custody_tables import drift_rows, hub_rows, observation_stores
from trlm_lab.flows.observation import observe
from trlm_lab.flows.opinion_distance import PEER, run_opinions
from trlm_lab.flows.oracle_drift import drift_rows as condition_rows
from trlm_lab.flows.report_figures import figure_rows
from trlm_lab.flows.reviewed_files import FOLDER
from trlm_lab.flows.source_tables import conflict_rows
from trlm_lab.flows.tables import logit_rows, text_of, unbroken, worst_rows

if TYPE_CHECKING:
    from trlm_lab.flows.plan import RunPlan
    from trlm_lab.flows.promotion import Claim
    from trlm_lab.flows.run import Run

#: What each executed notebook shows, for the list at the end.
NOTEBOOKS = {
    "01_acquire": "what was acquired",
    "02_describe": "what the source means",
    "03_pack": "what was packed",
    "04_oracle": "the oracle and the bar",
    "05_judge": "what survived",
    "06_report": "what is claimed",
}


def write_report(run: Run, rows: list[Claim], promotion: str) -> Path:
    """Render `report.html` into the run's directory; returns its path."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("trlm_lab.flows", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["figure"] = text_of
    environment.tests["unbroken"] = unbroken
    page = environment.get_template("report.html.j2").render(
        version=__version__,
        promotion=promotion,
        holds=bool(run.ws.store.get(promotion).metadata["holds"]),
        headline=headline(rows),
        claims=[{**c.row(), "mood": mood(c.outcome)} for c in rows],
        **_identity(run),
        **_evidence(run, rows, promotion),
        again=again(run.plan),
        notebooks=_notebooks(run.ws.notebooks),
    )
    path = run.ws.out / "report.html"
    write_atomically(path, page.encode())
    return path


def _identity(run: Run) -> dict[str, Any]:
    snapshot = run.source.snapshot
    return {
        "model": identity.model_name(snapshot),
        "revision": identity.model_revision(snapshot),
        "snapshot": snapshot.snapshot_id,
        "config": run.described.config,
        "framework": run.described.defaults.framework,
        "observed": observe(run.ws.out),
        "engines": identity.engine_rows(run),
        "planned": identity.planned_rows(run),
        "artifacts": identity.artifact_rows(run),
        "suites": identity.suite_rows(run),
        "materials": identity.material_rows(snapshot),
        "files": [
            {"file": f.display, "bytes": f.size, "SHA-256": f.sha256} for f in snapshot.files
        ],
        "licence": snapshot.provenance.get("licence") or {},
        "converter": snapshot.provenance.get("converter") or {},
        "on_grid": run.source.on_grid,
        "custody": hub_rows(snapshot),
        "drift": drift_rows(snapshot, observation_stores(run)),
    }


def _evidence(run: Run, rows: list[Claim], promotion: str) -> dict[str, Any]:
    worst = [
        {"engine": engine, "artifact": label, **row}
        for (engine, label), judged in run.judged.items()
        for row in worst_rows(judged.comparison, count=3)
    ]
    return {
        "summary": evidence.summary_lines(run),
        "mismatches": evidence.mismatch_cards(run),
        "unstable": evidence.unstable_rows(run),
        "third_run": evidence.third_run_cases(run),
        "resolutions": evidence.resolution_rows(run, promotion),
        "conflicts": conflict_rows(run),
        "unproved": evidence.unproved(run, rows),
        "logits": logit_rows(run.judged),
        "opinions": run_opinions(run) if PEER in run.plan.bounded else [],
        "worst": worst,
        "own_drift": [
            {"artifact": label, **row}
            for label, measured in run.drift.items()
            for row in condition_rows(measured.record)
        ],
        "figures": figure_rows(run.ws.figures, run.source.on_grid),
    }


def _notebooks(directory: Path) -> list[dict[str, str]]:
    pages = sorted(directory.glob("*.html"))
    return [{"file": p.name, "words": NOTEBOOKS.get(p.stem, p.stem)} for p in pages]


def again(plan: RunPlan) -> str:
    """The command that makes this run once more, into another directory."""
    # A path of this machine is named, never spelled out.
    plan = plan.shown()
    words = ["trlm", "run", plan.source, "--backends", ",".join((*plan.exact, *plan.bounded))]
    words += ["--cases", plan.judged, "--calibration", plan.calibration]
    words += ["--quant", ",".join(plan.artifacts)]
    if plan.fault:
        words += ["--fault", plan.fault]
    for option, name in (
        *(("--resolution", name) for name in plan.resolutions),
        ("--licence-decision", plan.licence_decision),
        ("--tree-profile", plan.tree_profile),
        ("--secret-exceptions", plan.secret_exceptions),
    ):
        words += [option, f"DIR/{FOLDER}/{name}.json"] if name else []
    return shlex.join([*words, "--out", "again"])


def headline(rows: list[Claim]) -> str:
    """One sentence: how many claims, and how they came out."""
    counts = {o: sum(c.outcome is o for c in rows) for o in Outcome}
    parts = [f"{n} {o.value}" for o, n in counts.items() if n]
    return f"{len(rows)} claims: {', '.join(parts)}."


def mood(outcome: Outcome) -> str:
    """Class of an outcome for the style sheet: sound, fault or neither."""
    if outcome in SOUND:
        return "sound"
    return "fault" if outcome in FAULTS else "open"
