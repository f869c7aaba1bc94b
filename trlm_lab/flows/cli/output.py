"""What a command prints: one JSON document, or words for people; progress goes to stderr."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from trlm_lab.errors import TrlmError


def emit_json(document: Any) -> None:
    """The one JSON document of `--json`."""
    sys.stdout.write(json.dumps(document, ensure_ascii=False, indent=1) + "\n")


def emit_table(rows: Sequence[Mapping[str, Any]], title: str = "") -> None:
    """Rows of equal keys as a table on standard output."""
    from rich.console import Console
    from rich.table import Table

    table = Table(title=title or None, title_justify="left", header_style="bold")
    for key in rows[0] if rows else ():
        table.add_column(key, overflow="fold")
    for row in rows:
        table.add_row(*("" if v is None else str(v) for v in row.values()))
    console = Console(highlight=False, markup=False)
    if not console.is_terminal:
        console = Console(highlight=False, markup=False, width=140)
    console.print(table)


def report_error(error: TrlmError, *, as_json: bool) -> int:
    """Print a refusal (JSON on stdout where asked for, else words on stderr); its exit status."""
    if as_json:
        emit_json({"error": error.as_finding()})
    else:
        print(f"trlm: {error}", file=sys.stderr)
    return error.exit_status
