"""`trlm tokenizer profile`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from trlm_lab.flows.cli.output import emit_json, emit_table
from trlm_lab.flows.cli.runs import Json
from trlm_lab.flows.cli.tokenizer_compile import compile_command

group = typer.Typer(no_args_is_help=True, help="What a tokenizer is, and what it must give.")
File = Annotated[Path, typer.Argument(help="A tokenizer.json or a GGUF file.")]


def register(app: typer.Typer) -> None:
    """Add the group."""
    group.command("compile")(compile_command)
    app.add_typer(group, name="tokenizer")


@group.command()
def profile(file: File, json: Json = False) -> int:
    """Every field that decides an id, an offset or a decoded byte, and the hash of all of them."""
    from trlm_lab.flows.tokenizer_profiles import profile_file

    row = profile_file(file).row()
    if json:
        emit_json(row)
    else:
        emit_table([{"field": name, "value": value} for name, value in _lines(row, "")])
    return 0


def _lines(value: Any, name: str) -> list[tuple[str, Any]]:
    """A line for each leaf of a document, named by its path; control characters are escaped."""
    if isinstance(value, dict) and value:
        inside = [(f"{name}.{key}" if name else key, one) for key, one in value.items()]
    elif isinstance(value, list) and value and isinstance(value[0], dict):
        inside = [(f"{name}[{index}]", one) for index, one in enumerate(value)]
    else:
        return [(name, ascii(value) if isinstance(value, str | list) else value)]
    return [line for key, one in inside for line in _lines(one, key)]
