"""`trlm ladder`: a weight from its source's bytes to the token that is chosen, rung by rung."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from trlm_lab.flows.cli.output import emit_json, emit_line, emit_table
from trlm_lab.flows.cli.reviewed import takes_reviewed
from trlm_lab.flows.cli.runs import Json
from trlm_lab.flows.reviewed_files import Reviewed

if TYPE_CHECKING:
    from trlm_lab.flows.quant_ladder.climb import Ladder
    from trlm_lab.flows.quant_ladder.subject import LadderSubject


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(ladder)


@takes_reviewed
def ladder(
    model: Annotated[str, typer.Argument(help="A snapshot directory or any SOURCE.")],
    tensor: Annotated[str, typer.Argument(help="A tensor by its name in the artifact.")],
    reviewed: Reviewed,
    row: Annotated[
        int | None, typer.Argument(help="A row, from 0; without one the whole tensor.")
    ] = None,
    artifact: Annotated[
        Path | None, typer.Option(help="A `.slm` of that source, of either version.")
    ] = None,
    quant: Annotated[
        str, typer.Option(help="The profile to pack by, where no artifact is given.")
    ] = "q8_r128",
    codes: Annotated[Path | None, typer.Option(help="The codes of a calibrated profile.")] = None,
    element: Annotated[
        int | None, typer.Option(help="A column of ROW, from 0, shown at every rung.")
    ] = None,
    tokens: Annotated[
        str, typer.Option(help="Token ids of the case, by commas; else four seeded ones.")
    ] = "",
    fault: Annotated[
        str, typer.Option(help="Plant a fault of the catalogue, or `all` one by one.")
    ] = "",
    out: Annotated[Path | None, typer.Option(help="Write a receipt for each rung here.")] = None,
    json: Json = False,
) -> int:
    """Hold every rung of the quantization ladder against what follows from the one below."""
    from trlm_lab.flows.progress import Board
    from trlm_lab.flows.quant_ladder.climb import climb
    from trlm_lab.flows.quant_ladder.faults import planted_route
    from trlm_lab.flows.quant_ladder.receipts import record_ladder
    from trlm_lab.flows.quant_ladder.route import SOUND
    from trlm_lab.flows.quant_ladder.start import ladder_of_source
    from trlm_lab.flows.store_directory import require_store

    if out is not None:
        require_store(out)
    case = _ids(tokens)
    with Board() as board:
        subject = ladder_of_source(
            model,
            tensor,
            quant=quant,
            artifact=artifact,
            codes=codes,
            board=board,
            reviewed=reviewed,
        )
        span = subject.span(row)
        if element is not None:
            subject.require_column(element)
        if fault == "all":
            return _show_scores(subject, row, json)
        route = planted_route(fault, subject, span) if fault else SOUND
        climbed = climb(subject, row, tokens=case, route=route)
    nodes = record_ladder(out, climbed) if out else []
    return _show(climbed, element, nodes, json)


def _ids(text: str) -> tuple[int, ...]:
    """Token ids by commas. Raises CommandLineError."""
    from trlm_lab.errors import CommandLineError

    parts = [part.strip() for part in text.split(",")] if text.strip() else []
    if not all(part.isascii() and part.isdigit() for part in parts):
        detail = f"--tokens takes ids by commas, not {text!r}"
        raise CommandLineError(where="--tokens", detail=detail, command="trlm ladder")
    return tuple(map(int, parts))


def _show(ladder: Ladder, element: int | None, nodes: list[str], json: bool) -> int:
    from trlm_lab.base.records import Outcome
    from trlm_lab.flows.quant_ladder.document import consequences, ladder_document, rung_rows
    from trlm_lab.flows.quant_ladder.element import element_rows

    # Before anything is shown: an element of a whole tensor is refused.
    document = ladder_document(ladder, element)
    if json:
        emit_json({**document, "receipts": nodes})
    else:
        subject = ladder.subject
        rows = f"row {ladder.span[0]}" if ladder.span[1] - ladder.span[0] == 1 else "all rows"
        emit_table(rung_rows(ladder), f"{subject.name}, {rows}, {subject.profile}")
        if element is not None:
            emit_table(element_rows(ladder, element), f"column {element}")
        emit_table([{"": k, "value": v} for k, v in consequences(ladder).items()], "last token")
        for name, why in ladder.missing.items():
            emit_line(f"{name} is not here: {why}")
        if nodes:
            emit_line(f"receipt {nodes[-1]}")
        print(f"first wrong: {ladder.named}" if ladder.named else "every rung follows")
    if ladder.named:
        return 1
    return 4 if any(r.outcome is Outcome.INFRA for r in ladder.rungs) else 0


def _show_scores(subject: LadderSubject, row: int | None, json: bool) -> int:
    from trlm_lab.flows.quant_ladder.start import fault_scores

    rows = fault_scores(subject, row)
    planted = [r for r in rows if not r["not planted"]]
    named = sum(r["named"] == r["expected"] for r in planted)
    if json:
        emit_json({"planted": len(planted), "named": named, "faults": rows})
    else:
        emit_table(rows, f"{subject.name}, {subject.profile}")
        print(f"{named} of {len(planted)} named at the expected rung")
    return 0 if named == len(planted) else 1
