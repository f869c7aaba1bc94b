"""What a command prints: one JSON document, or words for people; progress goes to stderr."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from trlm_lab.errors import TrlmError
from trlm_lab.errors.root import one_line

if TYPE_CHECKING:
    from rich.console import Console


def emit_json(document: Any) -> None:
    """The one JSON document of `--json`, UTF-8 whatever bytes the names of files have."""
    text = json.dumps(document, ensure_ascii=False, indent=1) + "\n"
    # What is no text becomes the JSON escape of its surrogate.
    sys.stdout.write(text.encode("utf-8", "backslashreplace").decode())


def emit_line(text: str) -> None:
    """One line for people on standard output, whatever characters a file put into it."""
    print(one_line(text))


def emit_table(rows: Sequence[Mapping[str, Any]], title: str = "") -> None:
    """Rows of equal keys as a table on standard output."""
    from rich.table import Table

    table = Table(title=title or None, title_justify="left", header_style="bold")
    for key in rows[0] if rows else ():
        table.add_column(key, overflow="fold")
    for row in rows:
        table.add_row(*("" if v is None else _cell(str(v)) for v in row.values()))
    _console().print(table)


def _cell(text: str) -> str:
    return "\n".join(map(one_line, text.split("\n")))


def _console() -> Console:
    from rich.console import Console

    class PipeConsole(Console):
        """Leaves a closed pipe to the one place where errors become exit statuses."""

        def on_broken_pipe(self) -> None:
            raise BrokenPipeError

    console = PipeConsole(highlight=False, markup=False)
    return console if console.is_terminal else PipeConsole(highlight=False, markup=False, width=140)


def report_error(error: TrlmError, *, as_json: bool, command: str = "trlm") -> int:
    """Print a refusal (JSON on stdout where asked for, else words on stderr); its exit status.

    Where the error names no place, the command is the place.
    """
    if as_json:
        finding = error.as_finding()
        emit_json({"error": {**finding, "where": finding["where"] or command}})
    else:
        print(f"trlm: {error}", file=sys.stderr)
    return error.exit_status


def discard_output() -> None:
    """Nobody reads any more: what is left in the buffers goes nowhere, and without a complaint."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in (sys.stdout, sys.stderr):
        os.dup2(nowhere, stream.fileno())
    os.close(nowhere)
