"""`trlm oracle drift` and `third-opinion`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from trlm_lab.flows.cli.output import emit_json, emit_table
from trlm_lab.flows.cli.reviewed import takes_reviewed
from trlm_lab.flows.cli.runs import Json
from trlm_lab.flows.reviewed_files import Reviewed

group = typer.Typer(no_args_is_help=True, help="The source framework as an engine.")


def register(app: typer.Typer) -> None:
    """Add the group."""
    app.add_typer(group, name="oracle")


@group.callback()
def oracle() -> None:
    """The source framework as an engine."""


@group.command()
@takes_reviewed
def drift(
    model: Annotated[str, typer.Argument(help="Model directory or any SOURCE.")],
    cases: Annotated[str, typer.Option(help="Case file (trlm.process.cases.v1) or suite name.")],
    reviewed: Reviewed,
    out: Annotated[Path | None, typer.Option(help="The record to write, canonical CBOR.")] = None,
    only: Annotated[str, typer.Option(help="Conditions, comma-separated; all without it.")] = "",
    json: Json = False,
) -> int:
    """How far the oracle moves by itself; exits with 1 if the same run gives other bits."""
    from trlm_lab.flows.oracle_drift import drift_rows, oracle_drift, write_drift
    from trlm_lab.flows.progress import Board
    from trlm_lab.flows.source_output import require_apart

    if out is not None:
        require_apart(out, model, Path(cases))
    with Board() as board:
        found = oracle_drift(
            model, cases, [name for name in only.split(",") if name], board, reviewed
        )
    if out is not None:
        write_drift(found, out)
    if json:
        emit_json({"record_id": found.record_id, "repeats": found.repeats, **found.to_map()})
    else:
        emit_table(drift_rows(found))
    return 0 if found.repeats else 1


@group.command("third-opinion")
@takes_reviewed
def third_opinion(
    source: Annotated[str, typer.Argument(help="A SOURCE, such as dir:PATH.")],
    cases: Annotated[str, typer.Option(help="Case file (trlm.process.cases.v1) or suite name.")],
    reviewed: Reviewed,
    engine: Annotated[
        str, typer.Option(help="The engine that is held against llama.cpp beside torch.")
    ] = "reference",
    fault: Annotated[
        str, typer.Option(help="NAME@LAYER, planted to show that it would be seen; or nothing.")
    ] = "rope_pairing@first",
    out: Annotated[Path | None, typer.Option(help="The record to write, canonical CBOR.")] = None,
    json: Json = False,
) -> int:
    """Logits of llama.cpp beside the oracle's and an engine's; exits with 1 if they disagree."""
    from trlm_lab.base import canon
    from trlm_lab.base.blobs import write_atomically
    from trlm_lab.flows.opinion_distance import opinion_rows
    from trlm_lab.flows.progress import Board
    from trlm_lab.flows.source_output import require_apart
    from trlm_lab.flows.third_opinion import third_opinion as ask

    if out is not None:
        require_apart(out, source, Path(cases))
    with Board() as board:
        found = ask(source, cases, board, engine=engine, fault=fault, reviewed=reviewed)
    if out is not None:
        write_atomically(out, canon.encode(found.to_map()))
    if json:
        judged = {"agrees": found.agrees, "fault_seen": found.fault_seen}
        emit_json({"record_id": found.record_id, **judged, **found.to_map()})
    else:
        emit_table(opinion_rows((*found.distances, *found.planted), found.limit))
    return 0 if found.holds else 1
