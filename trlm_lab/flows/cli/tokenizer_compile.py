"""`trlm tokenizer compile`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from trlm_lab.flows.cli.output import emit_json, emit_table
from trlm_lab.flows.cli.runs import Json

Source = Annotated[
    Path, typer.Argument(help="A tokenizer file, or a model directory: with roles and template.")
]


def compile_command(
    file: Source,
    out: Annotated[Path, typer.Option(help="The `.tok2` to write.")],
    json: Json = False,
) -> int:
    """Compile a tokenizer to TOK2, the form that runtimes read in place."""
    from trlm_lab.flows.compiled_tokenizer import compile_file

    row = compile_file(file, out)
    if json:
        emit_json(row)
    else:
        emit_table([{"": key, "value": value} for key, value in row.items()])
    return 0
