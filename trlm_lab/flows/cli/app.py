"""The command tree, and the one place where errors become exit statuses."""

from __future__ import annotations

import os
import sys

import typer

from trlm_lab import __version__
from trlm_lab.errors import SystemRefusedError, TrlmError
from trlm_lab.flows.cli import container, evidence, machine, runs, source, stages
from trlm_lab.flows.cli.output import report_error

#: Typer carries a parser of its own since 0.26; its errors are found through the public subclass.
_PARSER_ERROR: type[Exception] = next(
    c for c in typer.BadParameter.__mro__ if c.__name__ == "ClickException"
)

INTERRUPTED = 130
INTERRUPTED_TEXT = "trlm: interrupted; run the same command again to go on"

app = typer.Typer(
    name="trlm",
    help="Numerical conformance of language models, from source to browser.",
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
for room in (runs, source, container, stages, evidence, machine):
    room.register(app)


def _version(wanted: bool) -> None:
    if wanted:
        print(__version__)
        raise typer.Exit


@app.callback()
def root(
    version: bool = typer.Option(False, "--version", callback=_version, is_eager=True),
) -> None:
    """Exit status: 0 sound, 1 a claim does not hold, 2 usage, 3 input refused, 4 infrastructure."""


def run(arguments: list[str]) -> int:
    """Run the command line; returns the exit status."""
    wants_json = "--json" in arguments
    try:
        status = app(arguments, prog_name="trlm", standalone_mode=False)
        if status == INTERRUPTED:
            print(INTERRUPTED_TEXT, file=sys.stderr)
        return status if isinstance(status, int) else 0
    except TrlmError as error:
        return report_error(error, as_json=wants_json)
    except _PARSER_ERROR as error:
        error.show(file=sys.stderr)  # type: ignore[attr-defined]
        return 2
    except (typer.Abort, KeyboardInterrupt):
        print(INTERRUPTED_TEXT, file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        # The reader (head, say) has gone; nothing more to say to it.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:
        # A full disk, a path that is no directory, a missing permission.
        place, detail = str(error.filename or ""), error.strerror or str(error)
        return report_error(SystemRefusedError(where=place, detail=detail), as_json=wants_json)
    except typer.Exit as leaving:
        return leaving.exit_code
