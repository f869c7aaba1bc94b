"""A whole run, from the source to the sealed receipt."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from trlm_lab.backends.faulty import FaultyRunner
from trlm_lab.base.blobs import write_atomically
from trlm_lab.base.home import trlm_home
from trlm_lab.cases import load_suite
from trlm_lab.flows.execution import trace_name
from trlm_lab.flows.leftovers import sweep_cache
from trlm_lab.flows.notebooks import notebook_source, run_notebooks
from trlm_lab.flows.occupancy import occupied, withdraw_receipt
from trlm_lab.flows.plan import RunPlan
from trlm_lab.flows.progress import Board
from trlm_lab.flows.promotion import Claim, claims, promote
from trlm_lab.flows.report import write_report
from trlm_lab.flows.reviewed_files import Reviewed
from trlm_lab.flows.reviewed_source import read_reviewed
from trlm_lab.flows.run import Run
from trlm_lab.flows.secrets import scan_pages, scan_plan
from trlm_lab.flows.workspace import Workspace
from trlm_lab.receipts.verify import RECEIPT_FILE, list_files, receipt_text

NOTEBOOK_NAMES = ["01_acquire", "02_describe", "03_pack", "04_oracle", "05_judge", "06_report"]


@dataclass(frozen=True)
class Conformance:
    """Claims, the root of the receipt graph, the report, and whether everything holds."""

    claims: list[Claim]
    receipt_id: str
    report: Path
    holds: bool
    reused: tuple[str, ...]
    planted: str


def conform(
    plan: RunPlan,
    out: Path,
    board: Board,
    *,
    fresh: bool = False,
    reviewed: Reviewed | None = None,
) -> Conformance:
    """Run every stage, execute the notebooks, write the report and seal the receipt.

    `reviewed` are files that the plan is to name; where nothing is said, those that it names stand
    in `out`. A refusal before the first engine leaves a new or empty `out` as it was.

    Raises:
        DirectoryForeignError, DirectoryDiffersError: `out` belongs to something else.
        LockHeldError: another run is writing there.
        SecretFoundError: the plan, the report or a notebook holds what must not be published.
    """
    settled = None if reviewed is None else read_reviewed(reviewed)
    plan = checked_plan(plan if settled is None else settled.named_in(plan))
    sweep_cache(trlm_home())
    with occupied(out.resolve(), plan) as keep:
        run = Run(plan, Workspace(out, board, fresh=fresh), settled)
        scan_plan(run)
        # A source that is refused changes no file that a receipt lists.
        _ = run.described, run.judged_suite, run.calibration_suite
        keep()
        run.reviewed.files.keep(run.ws.out)
        return _conform(run)


def _conform(run: Run) -> Conformance:
    plan, ws = run.plan, run.ws
    # Until it is sealed again the directory makes no claim.
    moved = withdraw_receipt(ws.out)
    if moved:
        ws.board.say(
            f"{moved} attestations speak of the earlier receipt: moved to superseded/; "
            "`trlm attest` makes them of the new one"
        )
    plan.save(ws.out)
    run.keep_suites()
    rows = claims(run)
    promotion = promote(run, rows)
    reused = tuple(ws.reused)
    _ = run.quantization
    drop_strangers(ws, plan)
    notebooks = run_notebooks(ws, NOTEBOOK_NAMES, {"out": ".."}, [promotion])
    report = write_report(run, rows, promotion)
    pages = scan_pages(run, promotion)
    receipt = seal(ws, promotion, [*(n.node for n in notebooks), pages])
    holds = bool(ws.store.get(promotion).metadata["holds"])
    return Conformance(rows, receipt, report, holds, reused, _planted_line(run))


def drop_strangers(ws: Workspace, plan: RunPlan) -> None:
    """Remove stored traces of engines that an earlier plan had; this receipt speaks of none."""
    wanted = ("torch", *plan.stored)
    names = {
        f"{trace_name(engine, label, load_suite(suite).name)}.zarr"
        for engine in wanted
        for label in plan.artifacts
        for suite in (plan.judged, plan.calibration)
    }
    for path in sorted(ws.traces.glob("*.zarr")):
        if path.name not in names:
            ws.board.say(f"  {path.name}: of an earlier plan, removed")
            ws.drop(path)


def checked_plan(plan: RunPlan) -> RunPlan:
    """The plan with the content of its suites, after all that can be wrong before work begins.

    Raises:
        TrlmError: a suite, case file or fault that does not exist.
        CheckoutMissingError: this package was installed without its notebooks.
    """
    for name in NOTEBOOK_NAMES:
        notebook_source(name)
    if plan.fault:
        FaultyRunner(plan.fault)
    judged, calibration = load_suite(plan.judged), load_suite(plan.calibration)
    return replace(plan, judged_digest=judged.digest, calibration_digest=calibration.digest)


def _planted_line(run: Run) -> str:
    planted = run.planted
    if planted is None:
        return ""
    answer = "named" if planted.named else "NOT named"
    return (
        f"planted fault {planted.fault}: {answer} at {planted.mismatch.boundary}"
        f" (expected {planted.expected}, last sound {planted.mismatch.after})"
    )


def seal(ws: Workspace, promotion: str, pages: list[str]) -> str:
    """List every file, bind the list into the root node, and write the receipt file."""
    report_blob = ws.store.blobs.put((ws.out / "report.html").read_bytes())
    files = ws.store.put_value(list_files(ws.out, ws.board.report))
    root = ws.store.add(
        "report",
        {"report_blob": report_blob, "files_blob": files},
        [promotion, *pages],
    )
    write_atomically(ws.out / RECEIPT_FILE, receipt_text(root).encode())
    return root
