"""`trlm tokenizer profile`, `vectors` and `check-vectors`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from trlm_lab.flows.cli.output import emit_json, emit_table
from trlm_lab.flows.cli.runs import Json
from trlm_lab.flows.cli.tokenizer_compile import compile_command

group = typer.Typer(no_args_is_help=True, help="What a tokenizer is, and what it must give.")
File = Annotated[Path, typer.Argument(help="A tokenizer file, as `trlm tokenize` takes it.")]


def register(app: typer.Typer) -> None:
    """Add the group."""
    group.command("compile")(compile_command)
    app.add_typer(group, name="tokenizer")


@group.command()
def profile(file: File, json: Json = False) -> int:
    """Every field that decides an id, an offset or a decoded byte, and the hash of all of them."""
    from trlm_lab.flows.tokenizer_profiles import profile_file

    _say(profile_file(file).row(), json=json)
    return 0


@group.command()
def vectors(
    file: File,
    out: Annotated[Path, typer.Option(help="The file to write, canonical CBOR.")],
    json: Json = False,
) -> int:
    """Golden vectors over the whole minimum corpus, made by the reference."""
    from trlm_lab.base.output_file import require_output
    from trlm_lab.flows.tokenizer_vectors import make_vector_set, write_vectors

    require_output(out, file)
    _say(write_vectors(make_vector_set(file), out), json=json)
    return 0


@group.command("check-vectors")
def check_vectors(
    file: Annotated[Path, typer.Argument(help="What `trlm tokenizer vectors` wrote.")],
    engine: Annotated[str, typer.Option(help="An engine of `trlm tokenize`.")],
    json: Json = False,
) -> int:
    """Judge an engine from golden vectors alone; the first stage that parts is named."""
    from trlm_lab.flows.tokenizer_vectors import judge_vectors, read_vectors

    judged = judge_vectors(read_vectors(file), engine)
    _say(judged.row(), json=json)
    return 1 if judged.partings else 0


def _say(row: dict[str, Any], *, json: bool) -> None:
    if json:
        emit_json(row)
    else:
        emit_table([{"field": name, "value": value} for name, value in _lines(row, "")])


def _lines(value: Any, name: str) -> list[tuple[str, Any]]:
    """A line for each leaf of a document, named by its path; control characters are escaped."""
    if isinstance(value, dict) and value:
        inside = [(f"{name}.{key}" if name else key, one) for key, one in value.items()]
    elif isinstance(value, list) and value and isinstance(value[0], dict):
        inside = [(f"{name}[{index}]", one) for index, one in enumerate(value)]
    else:
        return [(name, ascii(value) if isinstance(value, str | list) else value)]
    return [line for key, one in inside for line in _lines(one, key)]
