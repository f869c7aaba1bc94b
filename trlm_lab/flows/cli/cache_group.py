"""`trlm cache list|prune`."""

from __future__ import annotations

from typing import Annotated

import typer

from trlm_lab.flows.cli.output import emit_json, emit_table
from trlm_lab.flows.cli.runs import Json

group = typer.Typer(no_args_is_help=True, help="What lies in the cache, and how to shrink it.")


def register(app: typer.Typer) -> None:
    """Add the group."""
    app.add_typer(group, name="cache")


@group.callback()
def cache() -> None:
    """What lies in the cache, and how to shrink it."""


@group.command("list")
def listed(
    entries: Annotated[bool, typer.Option(help="Every entry, not only the sums.")] = False,
    json: Json = False,
) -> int:
    """Kinds of cached things: how many, how large, how long unread."""
    from trlm_lab.flows.cache import cache_entries, cache_sums, entry_rows

    found = cache_entries()
    rows = entry_rows(found) if entries else cache_sums(found)
    emit_json(rows) if json else emit_table(rows)
    return 0


@group.command()
def prune(
    older_than: Annotated[float, typer.Option(min=0, help="Days since it was last read.")] = 7.0,
    kinds: Annotated[str, typer.Option(help="Comma-separated; what is made again offline.")] = "",
    dry_run: Annotated[bool, typer.Option(help="Say what would go, remove nothing.")] = False,
    json: Json = False,
) -> int:
    """Remove what was long unread and can be made again; receipts and reports never lie there."""
    from trlm_lab.flows.cache import REMADE, entry_rows, prune_cache

    chosen = [name for name in kinds.split(",") if name] or REMADE
    rows = entry_rows(prune_cache(older_than, chosen, dry_run=dry_run))
    emit_json(rows) if json else emit_table(rows, "would be removed" if dry_run else "removed")
    return 0
