"""`trlm drift`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from trlm_lab.flows.cli.output import emit_json, emit_line, emit_table
from trlm_lab.flows.cli.runs import Json

if TYPE_CHECKING:
    from trlm_lab.acquire import Drift


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(drift)


def drift(
    pin: Annotated[str, typer.Argument(help="hf:OWNER/NAME@REVISION, dir:PATH or gguf:FILE.")],
    directory: Annotated[
        Path | None, typer.Option("--dir", help="Receipt store; the cache's own by default.")
    ] = None,
    review: Annotated[
        Path | None, typer.Option("--review", help="A reviewed file of documentary changes.")
    ] = None,
    json: Json = False,
) -> int:
    """Look at a source again and write an observation; exits with 1 unless all is documentary."""
    from trlm_lab.flows.drift import observe_source

    seen, node = observe_source(pin, directory, reviews=review)
    if json:
        facts = {"moved": seen.moved, "behaviour": seen.behaviour}
        facts |= {"settled": seen.settled, "gone": seen.gone}
        emit_json(seen.to_map() | facts | {"node": node})
    else:
        emit_line(f"{seen.pin}: pinned {seen.pinned[:12]}, now {seen.observed[:12]}")
        rows = [
            {
                "file": c.path,
                "change": c.change,
                "kind": c.kind,
                "now": c.content[:12],
                "field": pointer,
                "was": old,
                "is": new,
            }
            for c in seen.changes
            for pointer, old, new in (c.fields or (("", "", ""),))
        ]
        if rows:
            emit_table(rows)
        print(_verdict(seen))
    return 0 if seen.settled else 1


def _verdict(seen: Drift) -> str:
    if seen.gone:
        return "gone: the server has no such repository or revision; what was acquired stands"
    if seen.behaviour:
        return "behaviour changed: a new candidate identity; the old promotion stands as it is"
    if any(change.kind == "licence" for change in seen.changes):
        return "the terms changed: acquire it again with a decision on the new ones"
    if not seen.settled:
        return "nothing that affects behaviour changed; the rest awaits review (--review FILE)"
    return "moved; every change was reviewed as documentary" if seen.moved else "unchanged"
