"""`trlm drift`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from trlm_lab.flows.cli.output import emit_json, emit_table
from trlm_lab.flows.cli.runs import Json


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(drift)


def drift(
    pin: Annotated[str, typer.Argument(help="hf:OWNER/NAME@REVISION, dir:PATH or gguf:FILE.")],
    directory: Annotated[
        Path | None, typer.Option("--dir", help="Receipt store; the cache's own by default.")
    ] = None,
    json: Json = False,
) -> int:
    """Look at a source again and write an observation; a behaviour change exits with 1."""
    from trlm_lab.flows.drift import observe_source

    seen, node = observe_source(pin, directory)
    if json:
        emit_json(seen.to_map() | {"moved": seen.moved, "behaviour": seen.behaviour, "node": node})
    else:
        print(f"{seen.pin}: pinned {seen.pinned[:12]}, now {seen.observed[:12]}")
        rows = [
            {
                "file": c.path,
                "change": c.change,
                "kind": c.kind,
                "field": pointer,
                "was": old,
                "is": new,
            }
            for c in seen.changes
            for pointer, old, new in (c.fields or (("", "", ""),))
        ]
        if rows:
            emit_table(rows)
        print(_verdict(seen.moved, seen.behaviour))
    return 1 if seen.behaviour else 0


def _verdict(moved: bool, behaviour: bool) -> str:
    if behaviour:
        return "behaviour changed: a new candidate identity; the old promotion stands as it is"
    if moved:
        return "moved; nothing that affects behaviour changed, documentary changes await review"
    return "unchanged"
