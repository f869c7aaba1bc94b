"""`trlm render`."""

from __future__ import annotations

import json as json_text
import sys
from pathlib import Path
from typing import Annotated

import typer

from trlm_lab.flows.cli.runs import Json


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(render)


def render(
    template: Annotated[Path, typer.Option(help="Jinja source, or a file that declares one.")],
    engine: Annotated[
        str, typer.Option(help="jinja (the source's own), python, native, wasm.")
    ] = "python",
    strict: Annotated[
        bool, typer.Option("--strict", help="Refuse what the template's contract forbids.")
    ] = False,
    tokenizer: Annotated[
        Path | None,
        typer.Option(help="Say who inserts BOS and EOS; refuse where this tokenizer would too."),
    ] = None,
    json: Json = False,
) -> int:
    """Render conversations, JSON lines from standard input to standard output."""
    from trlm_lab.flows.lines import bounded_lines
    from trlm_lab.flows.rendering import open_engine, render_lines

    answer = open_engine(template, engine, strict=strict, tokenizer=tokenizer)
    refused = False
    for row in render_lines(bounded_lines(sys.stdin.buffer), answer):
        refused = refused or "error" in row
        sys.stdout.write(json_text.dumps(row, ensure_ascii=False) + "\n")
    return 3 if refused else 0
