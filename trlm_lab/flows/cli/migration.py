"""`trlm migrate`: an SLM1 file into SLM2."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from trlm_lab.flows.cli.output import emit_json, emit_line, emit_table
from trlm_lab.flows.cli.runs import Json


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(migrate)


def migrate(
    path: Annotated[Path, typer.Argument(metavar="IN", help="An SLM1 file.")],
    out: Annotated[Path, typer.Argument(metavar="OUT", help="The SLM2 file to write.")],
    quant: Annotated[str, typer.Option(help="f32 (nothing is lost) or another profile.")] = "f32",
    rope_order: Annotated[
        str, typer.Option(help="interleaved (rows as they are) or half_split")
    ] = "interleaved",
    unchecked: Annotated[
        bool, typer.Option("--unchecked", help="Take a checksum of a profile unknown here.")
    ] = False,
    ledger: Annotated[
        Path | None, typer.Option(help="Write what became of each tensor as JSON.")
    ] = None,
    json: Json = False,
) -> int:
    """Turn an SLM1 file into SLM2: weights as they are read, the whole configuration, TOK2."""
    from trlm_lab.base import strict_json
    from trlm_lab.base.blobs import write_atomically
    from trlm_lab.base.output_file import require_output, written_below
    from trlm_lab.errors import OutputIsInputError
    from trlm_lab.flows.progress import Board
    from trlm_lab.pack.slm1 import migrate as write

    require_output(out, path)
    if ledger is not None:
        require_output(ledger, path, out)
        if ledger.resolve() == out.resolve():
            raise OutputIsInputError(where=str(ledger))
    with written_below(out), Board() as board:
        done = write(
            path,
            out,
            quant=quant,
            rope_order=rope_order,
            unchecked=unchecked,
            progress=board.report,
        )
    if ledger is not None:
        write_atomically(ledger, strict_json.pretty(done.ledger.to_map()))
    hidden = ("path", "config")
    row = {k: v for k, v in vars(done.artifact).items() if k not in hidden}
    row |= {"rope_order": rope_order, "ledger_id": done.ledger.ledger_id}
    if json:
        emit_json({"path": str(out), **row, "exceptions": list(done.ledger.exceptions)})
    else:
        emit_table([{"": k, "value": v} for k, v in {"path": out, **row}.items()])
        for text in done.ledger.exceptions:
            emit_line(text)
    return 0
