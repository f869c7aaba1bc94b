"""`trlm golden export`, `verify`, `judge` and `vectors`."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from trlm_lab.flows.cli.output import emit_json, emit_line, emit_table
from trlm_lab.flows.cli.reviewed import SecretExceptionsFile, takes_reviewed
from trlm_lab.flows.cli.runs import Json
from trlm_lab.flows.reviewed_files import Reviewed

if TYPE_CHECKING:
    from trlm_lab.errors import TrlmError
    from trlm_lab.flows.golden_judge import Judgement

group = typer.Typer(no_args_is_help=True, help="Golden vectors: containers that stand alone.")


def register(app: typer.Typer) -> None:
    """Add the group."""
    app.add_typer(group, name="golden")


@group.command()
@takes_reviewed
def export(
    trace: Annotated[Path, typer.Argument(help="A stored trace (`trlm capture`, `trlm exec`).")],
    model: Annotated[str, typer.Option(help="Model directory or any SOURCE that it is of.")],
    out: Annotated[Path, typer.Option(help="Directory; one container a case, and receipts.")],
    reviewed: Reviewed,
    cases: Annotated[str, typer.Option(help="Case ids, comma-separated; all if empty.")] = "",
    layers: Annotated[str, typer.Option(help="Layers, comma-separated; all if empty.")] = "",
    tokens: Annotated[int, typer.Option(min=0, help="Keep the last tokens only; 0 all.")] = 0,
    width: Annotated[int, typer.Option(min=0, help="Keep the first channels only; 0 all.")] = 0,
    policy: Annotated[Path | None, typer.Option(help="Frozen policy to be judged by.")] = None,
    secret_exceptions: SecretExceptionsFile = None,
    json: Json = False,
) -> int:
    """Write containers from a trace: every checkpoint, whole or in bounded slices."""
    from trlm_lab.flows.golden import export_golden
    from trlm_lab.flows.progress import Board
    from trlm_lab.golden import Bounds

    bounds = Bounds(_numbers(layers), tokens, width)
    wanted = [name for name in cases.split(",") if name]
    reviewed = replace(reviewed, secret_exceptions=secret_exceptions)
    with Board() as board:
        done = export_golden(
            trace, model, out, board,
            cases=wanted, bounds=bounds, policy=policy, reviewed=reviewed,
        )  # fmt: skip
    rows = [one.row() for one in done]
    emit_json(rows) if json else emit_table(rows)
    return 0


def _numbers(text: str) -> tuple[int, ...] | None:
    from trlm_lab.errors import UnknownNameError

    parts = [part for part in text.split(",") if part]
    if not all(part.isascii() and part.isdigit() for part in parts):
        raise UnknownNameError(where="--layers", kind="layer", name=text, known="0, 1, 2, …")
    return tuple(int(part) for part in parts) or None


@group.command()
def verify(
    path: Annotated[Path, typer.Argument(help="A container, its case.cbor, or a folder of them.")],
    reader: Annotated[str, typer.Option(help="python, or native (the Rust reader).")] = "python",
    json: Json = False,
) -> int:
    """Check the document and every hash of containers."""
    from trlm_lab.errors import PathMissingError, UnknownNameError
    from trlm_lab.flows.golden import verify_golden

    if reader not in ("python", "native"):
        raise UnknownNameError(where="--reader", kind="reader", name=reader, known="python, native")
    if not path.exists():
        raise PathMissingError(where=str(path))
    document = verify_golden(path, reader)
    if json:
        emit_json(document)
    else:
        for row in document["findings"]:
            emit_line(f"{row['code']} at {row['where']}: {row['detail']}")
        print(f"{document['verdict']} ({document['cases']} cases)")
    return 0 if document["verdict"] == "accept" else 3


@group.command()
@takes_reviewed
def judge(
    path: Annotated[Path, typer.Argument(help="A container, or a folder of them.")],
    engine: Annotated[str, typer.Option(help="Engine name, `process:COMMAND`, `faulty:N@L`.")],
    reviewed: Reviewed,
    artifact: Annotated[Path | None, typer.Option(help="The `.slm` to run.")] = None,
    model: Annotated[
        Path | None, typer.Option(help="Model directory to run, a SOURCE as dir:PATH is.")
    ] = None,
    policy: Annotated[
        Path | None, typer.Option(help="The frozen policy that the container names (.cbor).")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="A store for the receipt.")] = None,
    json: Json = False,
) -> int:
    """Judge an engine by containers alone and name the first failing boundary."""
    from trlm_lab.errors import PathMissingError
    from trlm_lab.flows.golden_judge import judge as judged
    from trlm_lab.flows.progress import Board
    from trlm_lab.flows.store_directory import require_store

    if not path.exists():
        raise PathMissingError(where=str(path))
    if out is not None:
        require_store(out)
    with Board() as board:
        judgement = judged(
            path, engine, board, artifact=artifact, model=model, policy=policy, reviewed=reviewed
        )
    rows = judgement.verdicts
    if not json:
        emit_table([row.table_row() for row in rows], judgement.outcome.value)
    # What was found out is shown, whatever becomes of its receipt.
    unrecorded = None if out is None else _unrecorded(judgement, out)
    if json:
        document = {"verdict": judgement.outcome.value, "cases": [row.row() for row in rows]}
        emit_json(document | ({"error": unrecorded.as_finding()} if unrecorded else {}))
    elif unrecorded is not None:
        raise unrecorded
    return _status(judgement) if unrecorded is None else unrecorded.exit_status


def _unrecorded(judgement: Judgement, out: Path) -> TrlmError | None:
    """Write the receipt, or say why it cannot be written."""
    from trlm_lab.errors import TrlmError

    try:
        judgement.record(out)
    except TrlmError as error:
        return error
    return None


def _status(judgement: Judgement) -> int:
    from trlm_lab.base.records import FAULTS, SOUND

    if judgement.outcome in SOUND:
        return 0
    return 1 if judgement.outcome in FAULTS else 4


@group.command()
def vectors(
    out: Annotated[Path, typer.Option(help="Directory; one container a name, and receipts.")],
    only: Annotated[str, typer.Option(help="Names, comma-separated; all if empty.")] = "",
    engine: Annotated[str, typer.Option(help="An engine of the exact profile.")] = "native-scalar",
    json: Json = False,
) -> int:
    """Make the recorded golden vectors again and hold them against their hashes."""
    from trlm_lab.flows.golden_vectors import make_vectors, vector_plans
    from trlm_lab.flows.progress import Board

    names = [name for name in only.split(",") if name] or list(vector_plans())
    with Board() as board:
        made = [make_vectors(name, out, board, engine=engine) for name in names]
    rows = [one.row() for one in made]
    emit_json(rows) if json else emit_table(rows)
    return 0 if all(one.agrees for one in made) else 1
