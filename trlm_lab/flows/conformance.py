"""A whole run, from the source to the sealed receipt."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from trlm_lab.backends.faulty import FaultyRunner
from trlm_lab.base.blobs import write_atomically
from trlm_lab.cases import load_suite
from trlm_lab.flows.notebooks import run_notebooks
from trlm_lab.flows.plan import RunPlan
from trlm_lab.flows.progress import Board
from trlm_lab.flows.promotion import Claim, claims, promote
from trlm_lab.flows.report import write_report
from trlm_lab.flows.run import Run
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


def conform(plan: RunPlan, out: Path, board: Board, *, fresh: bool = False) -> Conformance:
    """Run every stage, execute the notebooks, write the report and seal the receipt."""
    check_plan(plan)
    ws = Workspace(out, board, fresh=fresh)
    out = ws.out
    # Until it is sealed again the directory makes no claim.
    (out / RECEIPT_FILE).unlink(missing_ok=True)
    run = Run(plan, ws)
    rows = claims(run)
    promotion = promote(run, rows)
    reused = tuple(ws.reused)
    _ = run.quantization
    notebooks = run_notebooks(ws, NOTEBOOK_NAMES, {"out": str(out)}, [promotion])
    report = write_report(run, rows, promotion)
    receipt = seal(ws, promotion, [n.node for n in notebooks])
    holds = bool(ws.store.get(promotion).metadata["holds"])
    return Conformance(rows, receipt, report, holds, reused, _planted_line(run))


def check_plan(plan: RunPlan) -> None:
    """Everything about a plan that can be wrong before work begins and a receipt is withdrawn.

    Raises:
        TrlmError: a suite, case file or fault that does not exist.
    """
    load_suite(plan.judged)
    load_suite(plan.calibration)
    if plan.fault:
        FaultyRunner(plan.fault)


def _planted_line(run: Run) -> str:
    planted = run.planted
    if planted is None:
        return ""
    answer = "named" if planted.named else "NOT named"
    return (
        f"planted fault {planted.fault}: {answer} at {planted.mismatch.boundary}"
        f" (expected {planted.expected}, last sound {planted.mismatch.after})"
    )


def seal(ws: Workspace, promotion: str, notebooks: list[str]) -> str:
    """List every file, bind the list into the root node, and write the receipt file."""
    report_blob = ws.store.blobs.put((ws.out / "report.html").read_bytes())
    files = ws.store.put_value(list_files(ws.out, ws.board.report))
    root = ws.store.add(
        "report",
        {"report_blob": report_blob, "files_blob": files},
        [promotion, *notebooks],
    )
    write_atomically(ws.out / RECEIPT_FILE, receipt_text(root).encode())
    return root
