"""`trlm demo` and `trlm run`."""

from __future__ import annotations

import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from trlm_lab.flows.cli.output import emit_json, emit_table
from trlm_lab.flows.cli.reviewed import SecretExceptionsFile, takes_reviewed
from trlm_lab.flows.reviewed_files import Reviewed

if TYPE_CHECKING:
    from trlm_lab.flows.conformance import Conformance
    from trlm_lab.flows.plan import RunPlan

SOURCES = (
    "hf:OWNER/NAME@REVISION, py:PACKAGE, installed:PACKAGE, gguf:FILE, dir:PATH, synthetic:NAME"
)
Json = Annotated[bool, typer.Option("--json", help="One JSON document on standard output.")]
Out = Annotated[Path, typer.Option("--out", help="Directory for receipts, traces and report.")]
Fresh = Annotated[bool, typer.Option("--fresh", help="Reuse nothing that this directory holds.")]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command()(demo)
    app.command()(run)


def demo(out: Out = Path("reports/demo"), fresh: Fresh = False, json: Json = False) -> int:
    """The main job on the real SmolLM2-135M-Instruct: every engine, every checkpoint, a report."""
    from trlm_lab.flows.planning import demo_plan

    print(
        "SmolLM2-135M-Instruct: about 5 minutes on two quiet cores, 6 GB of disk", file=sys.stderr
    )
    return _conform(demo_plan(), out, fresh=fresh, as_json=json)


@takes_reviewed
def run(
    source: Annotated[str, typer.Argument(help=SOURCES)],
    out: Out,
    reviewed: Reviewed,
    backends: Annotated[
        str, typer.Option(help="Engines, comma-separated; `all` is every exact engine found.")
    ] = "all",
    cases: Annotated[str, typer.Option(help="Suite name or case file to judge on.")] = "",
    calibration: Annotated[str, typer.Option(help="Suite or case file for the limits.")] = "",
    quant: Annotated[str, typer.Option(help="Artifacts, comma-separated.")] = "f32,q8_r128",
    fault: Annotated[str, typer.Option(help="A fault to plant, NAME@LAYER.")] = "",
    secret_exceptions: SecretExceptionsFile = None,
    fresh: Fresh = False,
    json: Json = False,
) -> int:
    """Acquire, describe, pack, capture, run, compare, report: a whole conformance run."""
    from trlm_lab.flows.planning import run_plan

    reviewed = replace(reviewed, secret_exceptions=secret_exceptions)
    plan = run_plan(source, backends, cases, calibration, quant, fault)
    return _conform(plan, out, fresh=fresh, as_json=json, reviewed=reviewed)


def _conform(
    plan: RunPlan, out: Path, *, fresh: bool, as_json: bool, reviewed: Reviewed | None = None
) -> int:
    from trlm_lab.flows.conformance import conform
    from trlm_lab.flows.progress import Board

    started = time.monotonic()
    with Board() as board:
        done = conform(plan, out, board, fresh=fresh, reviewed=reviewed)
        board.say(f"done in {time.monotonic() - started:.0f} s, {len(done.reused)} results reused")
    _show(done, as_json=as_json)
    return _status(done)


def _status(done: Conformance) -> int:
    """A claim that fails outranks an engine that could not run."""
    from trlm_lab.base.records import FAULTS, Outcome

    if done.holds:
        return 0
    outcomes = {c.outcome for c in done.claims}
    return 4 if Outcome.INFRA in outcomes and not outcomes & FAULTS else 1


def _show(done: Conformance, *, as_json: bool) -> None:
    if as_json:
        emit_json(
            {
                "conformance_receipt_id": done.receipt_id,
                "holds": done.holds,
                "report": str(done.report),
                "claims": [c.row() for c in done.claims],
            }
        )
        return
    keys = ("level", "claim", "engine", "artifact", "outcome", "detail")
    emit_table([{k: v for k, v in c.row().items() if k in keys} for c in done.claims], "Verdicts")
    if done.planted:
        print(done.planted)
    print(f"report   {done.report}")
    print(f"receipt  {done.receipt_id}")
    print(f"check it again: trlm verify {done.report.parent}")
