"""Stored traces: `capture` and `compare`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from trlm_lab.flows.cli.output import emit_json, emit_line, emit_table
from trlm_lab.flows.cli.reviewed import takes_reviewed
from trlm_lab.flows.cli.runs import Json
from trlm_lab.flows.cli.stages import Cases, Model
from trlm_lab.flows.reviewed_files import Reviewed

if TYPE_CHECKING:
    from trlm_lab.flows.stored_comparison import StoredComparison
    from trlm_lab.traces import Pick


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command()(capture)
    app.command()(compare)


@takes_reviewed
def capture(
    model: Model,
    cases: Cases,
    out: Annotated[Path, typer.Option(help="Trace directory to write; complete cases are kept.")],
    reviewed: Reviewed,
    threads: int = 2,
    dtype: Annotated[
        str, typer.Option(help="Of weights and activations: `float32`, `bfloat16`, `float16`.")
    ] = "float32",
    statistics: Annotated[
        bool, typer.Option("--statistics", help="Thirteen figures of each checkpoint, no arrays.")
    ] = False,
    whole: Annotated[
        str, typer.Option(help="Checkpoints to store whole, names or globs, comma-separated.")
    ] = "",
    squares: Annotated[
        str, typer.Option(help="Of cases above 512 tokens: `picked` heads and rows, or `all`.")
    ] = "picked",
    heads: Annotated[str, typer.Option(help="Heads to pick, comma-separated; two if empty.")] = "",
    rows: Annotated[
        str, typer.Option(help="Query rows to pick, comma-separated; 64 spread evenly if empty.")
    ] = "",
    json: Json = False,
) -> int:
    """Run the torch oracle and store every checkpoint as an xarray DataTree in zarr.

    A case that is there and holds less than is wished for is captured again, and must give what
    is there.
    """
    from trlm_lab.errors import UnknownNameError
    from trlm_lab.flows.capture import capture_oracle
    from trlm_lab.flows.progress import Board
    from trlm_lab.flows.single import suite_of
    from trlm_lab.traces import Keeping

    if squares not in ("picked", "all"):
        raise UnknownNameError(where="--squares", kind="choice", name=squares, known="picked, all")
    globs = tuple(name for name in whole.split(",") if name)
    keeping = Keeping(statistics, globs, squares == "all", _pick(heads, rows))
    with Board() as board:
        record = capture_oracle(
            model, suite_of(cases), out, board,
            threads=threads, dtype=dtype, keeping=keeping, reviewed=reviewed,
        )  # fmt: skip
    row = {"trace_id": record.trace_id, "path": str(out), "cases": len(record.cases)}
    row |= {"profile": record.engine.profile}
    emit_json(row) if json else emit_table([row])
    return 0


def _pick(heads: str, rows: str) -> Pick | None:
    from trlm_lab.errors import UsageError
    from trlm_lab.traces import Pick

    if not heads and not rows:
        return None
    if not heads or not rows:
        raise UsageError(where="--heads, --rows", detail="one is given without the other")
    return Pick(_numbers("--heads", heads), _numbers("--rows", rows))


def _numbers(option: str, text: str) -> tuple[int, ...]:
    from trlm_lab.errors import UsageError

    parts = text.split(",")
    # Longer ones are beyond any model, and the interpreter refuses very long ones.
    if not all(part.isascii() and part.isdigit() and len(part) < 10 for part in parts):
        raise UsageError(where=option, detail=f"{text!r} is no list of numbers")
    return tuple(int(part) for part in parts)


@takes_reviewed
def compare(
    reference: Path,
    candidate: Path,
    reviewed: Reviewed,
    policy: Annotated[Path | None, typer.Option(help="Frozen policy (.cbor).")] = None,
    model: Annotated[
        Path | None,
        typer.Option(help="Model directory, a SOURCE, to capture what is asked for in full."),
    ] = None,
    json: Json = False,
) -> int:
    """Compare two stored traces, checkpoint by checkpoint; without a policy bits must be equal.

    Checkpoints of which a trace has statistics only are asked for where the figures differ.
    """
    from trlm_lab.base.records import SOUND
    from trlm_lab.flows.progress import Board
    from trlm_lab.flows.stored_comparison import compare_in_full, compare_stored

    with Board() as board:
        if model is None:
            _require_none(reviewed)
            found = compare_stored(reference, candidate, policy, board)
        else:
            found = compare_in_full(
                reference, candidate, policy, board, model=model, reviewed=reviewed
            )
    emit_json(found.to_map()) if json else _show(found)
    return 0 if found.comparison.outcome in SOUND and not found.asked else 1


def _require_none(reviewed: Reviewed) -> None:
    from trlm_lab.errors import UsageError
    from trlm_lab.flows.reviewed_files import NOTHING

    if reviewed != NOTHING:
        raise UsageError(where="--model", detail="files are reviewed of a model that is not given")


def _show(found: StoredComparison) -> None:
    from trlm_lab.flows.tables import worst_rows

    emit_table(worst_rows(found.comparison), "nearest to, or beyond, the limit")
    if found.asked:
        emit_table([vars(one) for one in found.asked], "asked for whole: the statistics differ")
    if found.agreeing:
        emit_line(f"{found.agreeing} checkpoints have equal statistics, which proves nothing")
    print(found.comparison.outcome.value)
