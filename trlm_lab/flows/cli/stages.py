"""Single stages: `exec`, `calibrate`, `bisect`, `faults`, `op`."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Annotated

import typer

from trlm_lab.flows.cli.output import emit_json, emit_table
from trlm_lab.flows.cli.reviewed import takes_reviewed
from trlm_lab.flows.cli.runs import Json
from trlm_lab.flows.reviewed_files import Reviewed

Model = Annotated[Path, typer.Option(help="Model directory, a SOURCE as dir:PATH is.")]
Cases = Annotated[str, typer.Option(help="Case file (trlm.process.cases.v1) or suite name.")]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    for command in (calibrate, bisect, faults, op):
        app.command()(command)
    app.command("exec")(execute)


@takes_reviewed
def execute(
    backend: Annotated[str, typer.Option(help="Engine name, `process:COMMAND`, `faulty:N@L`.")],
    cases: Cases,
    out: Annotated[Path, typer.Option(help="Directory for report.json and the tensors.")],
    reviewed: Reviewed,
    model: Annotated[
        Path | None,
        typer.Option(help="Model directory, a SOURCE as dir:PATH is."),
    ] = None,
    artifact: Annotated[Path | None, typer.Option(help="A `.slm`.")] = None,
    profile: Annotated[str, typer.Option(help="Evaluation profile of the reference engine.")] = "",
    timeout: Annotated[
        float | None, typer.Option(help="Seconds for a process; 600 unless its file says.")
    ] = None,
    decode_steps: Annotated[
        int, typer.Option(min=0, help="Greedy steps behind each case: step{s}.NAME, generated.")
    ] = 0,
    json: Json = False,
) -> int:
    """Run one engine and write its checkpoints in the process adapter's form."""
    from trlm_lab.flows.exec_stage import ExecRequest, execute_backend
    from trlm_lab.flows.progress import Board

    request = ExecRequest(
        backend, cases, out, model, artifact, profile, timeout, decode_steps, reviewed
    )
    with Board() as board:
        row = execute_backend(request, board)
    emit_json(row) if json else emit_table([row])
    return 4 if row["not_supported"] else 0


@takes_reviewed
def calibrate(
    model: Model,
    cases: Cases,
    out: Annotated[Path, typer.Option(help="Policy to write (.cbor; a .json twin beside it).")],
    reviewed: Reviewed,
    drift: Annotated[
        Path | None,
        typer.Option(help="Record of `trlm oracle drift`; no floor is below what it moved."),
    ] = None,
    json: Json = False,
) -> int:
    """Measure the oracle's noise floor on calibration cases and freeze four times it."""
    from trlm_lab.base.output_file import require_output
    from trlm_lab.flows.progress import Board
    from trlm_lab.flows.single import calibrate_model

    require_output(out, Path(cases))
    with Board() as board:
        policy = calibrate_model(model, cases, out, board, reviewed, drift=drift)
    if json:
        emit_json({"policy_id": policy.policy_id, **policy.to_map()})
    else:
        from trlm_lab.flows.tables import limit_rows

        emit_table(limit_rows(policy), f"policy {policy.policy_id}")
    return 0


@takes_reviewed
def bisect(
    backend: Annotated[str, typer.Option(help="Engine name, `process:COMMAND`, `faulty:N@L`.")],
    model: Annotated[str, typer.Option(help="Model directory or any SOURCE.")],
    cases: Cases,
    reviewed: Reviewed,
    quant: Annotated[str, typer.Option(help="Artifact that an engine of ours opens.")] = "f32",
    timeout: Annotated[
        float | None, typer.Option(help="Seconds for a process; 600 unless its file says.")
    ] = None,
    json: Json = False,
) -> int:
    """Put a runtime on trial against the torch oracle and name the first failing boundary."""
    from trlm_lab.base.records import FAULTS, SOUND
    from trlm_lab.flows.progress import Board
    from trlm_lab.flows.single import suite_of
    from trlm_lab.flows.trial import bisect_model

    with tempfile.TemporaryDirectory() as scratch, Board() as board:
        trial = bisect_model(
            backend, model, suite_of(cases), Path(scratch), board,
            timeout=timeout, quant=quant, reviewed=reviewed,
        )  # fmt: skip
    answer = trial.mismatch
    if json:
        emit_json({**answer.to_map(), "policy_id": trial.policy and trial.policy.policy_id})
    else:
        shown = {k: v for k, v in answer.to_map().items() if k != "examined" and v is not None}
        rows = [{"": k, "value": v} for k, v in shown.items() if v != ""]
        emit_table(rows, answer.verdict.value)
    if answer.verdict in SOUND:
        return 0
    return 1 if answer.verdict in FAULTS else 4


@takes_reviewed
def faults(
    action: Annotated[str, typer.Argument(help="list or run")],
    reviewed: Reviewed,
    source: Annotated[str, typer.Argument(help="Any SOURCE.")] = "synthetic:llama-small",
    quant: Annotated[str, typer.Option(help="Artifacts, comma-separated.")] = "f32,q8_r128",
    only: Annotated[str, typer.Option(help="Fault names, comma-separated.")] = "",
    json: Json = False,
) -> int:
    """The catalogue of planted faults: list it, or run it and count what the judge names."""
    from trlm_lab.errors import UnknownNameError
    from trlm_lab.flows.catalogue import catalogue_rows, run_catalogue
    from trlm_lab.flows.catalogue_view import planting_rows
    from trlm_lab.flows.progress import Board

    if action not in ("list", "run"):
        raise UnknownNameError(kind="action", name=action, known="list, run")
    if action == "list":
        rows = catalogue_rows()
        emit_json(rows) if json else emit_table(rows)
        return 0
    with Board() as board:
        names = [name for name in only.split(",") if name]
        done = run_catalogue(source, quant.split(","), names, board, reviewed)
    if json:
        emit_json({"counts": done.counts, "rows": done.rows})
    else:
        emit_table(planting_rows(done.rows))
        print(", ".join(f"{n} {k}" for k, n in done.counts.items()))
    return 0 if done.sound else 1


def op(
    name: str,
    infile: Annotated[Path, typer.Argument(metavar="IN.npz")],
    outfile: Annotated[Path, typer.Argument(metavar="OUT.npz")],
    profile: Annotated[
        str, typer.Option(help="Evaluation profile, with options as NAME+OPTION.")
    ] = "scalar-f32-v1",
    engine: Annotated[
        str, typer.Option(help="`reference`, `native-scalar`, `wasm-scalar@wasmtime` or `torch`.")
    ] = "reference",
    json: Json = False,
) -> int:
    """One operator on arrays from a file; the answer is `y`."""
    from trlm_lab.flows.operators import run_operator_file

    row = run_operator_file(name, infile, outfile, profile, engine)
    emit_json(row) if json else emit_table([row])
    return 0
