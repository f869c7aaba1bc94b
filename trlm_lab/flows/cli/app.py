"""The command tree, and the one place where errors become exit statuses."""

from __future__ import annotations

import sys
import traceback

import typer

from trlm_lab import __version__
from trlm_lab.errors import CommandLineError, InternalError, SystemRefusedError, TrlmError
from trlm_lab.flows.cli import (
    attestation,
    cache_group,
    calibrated,
    container,
    drift,
    evidence,
    golden,
    ladder,
    machine,
    migration,
    oracle_group,
    runs,
    slmset_group,
    source,
    stages,
    templates,
    tokenizer_group,
    tokenizers,
    traces,
)
from trlm_lab.flows.cli.output import discard_output, report_error
from trlm_lab.flows.cli.signals import Stopped, stoppable
from trlm_lab.flows.cli.streams import open_streams, refuse_output

#: Typer carries a parser of its own since 0.26; its errors are found through the public subclass.
_PARSER_ERROR: type[Exception] = next(
    c for c in typer.BadParameter.__mro__ if c.__name__ == "ClickException"
)

INTERRUPTED = 130
#: 128 plus SIGPIPE: the reader (head, say) has gone, and did not see the whole answer.
BROKEN_PIPE = 141
AGAIN = "run the same command again to go on"

app = typer.Typer(
    name="trlm",
    help="Numerical conformance of language models, from source to browser.",
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
for room in (
    runs,
    source,
    container,
    calibrated,
    migration,
    slmset_group,
    ladder,
    golden,
    stages,
    traces,
    evidence,
    attestation,
    cache_group,
    drift,
    oracle_group,
    machine,
    tokenizers,
    tokenizer_group,
    templates,
):
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
    try:
        open_streams()
        status = _answer(arguments)
        # What the buffer still holds is part of the answer.
        sys.stdout.flush()
    except BrokenPipeError:
        discard_output()
        return BROKEN_PIPE
    except SystemRefusedError as error:
        return report_error(error, as_json=False)
    except OSError as error:
        return refuse_output(error)
    return status


def _answer(arguments: list[str]) -> int:
    as_json, command = "--json" in arguments, _command(arguments)
    try:
        return _invoke(arguments)
    except TrlmError as error:
        return report_error(error, as_json=as_json, command=command)
    except _PARSER_ERROR as error:
        return _refuse_usage(error, as_json=as_json, command=command)
    except Stopped as stopped:
        print(f"trlm: stopped by {stopped.name}; {AGAIN}", file=sys.stderr)
        return stopped.status
    except (typer.Abort, KeyboardInterrupt):
        print(f"trlm: interrupted; {AGAIN}", file=sys.stderr)
        return INTERRUPTED
    except typer.Exit as leaving:
        return leaving.exit_code
    except BrokenPipeError:
        raise
    except OSError as error:
        # A full disk, a path that is no directory, a missing permission.
        place, detail = str(error.filename or command), error.strerror or str(error)
        refused = SystemRefusedError(where=place, detail=detail)
        return report_error(refused, as_json=as_json, command=command)
    except Exception as error:  # never exit status 1, which says that a claim does not hold
        traceback.print_exc()
        fault = InternalError(kind=type(error).__name__, detail=str(error))
        return report_error(fault, as_json=as_json, command=command)


def _invoke(arguments: list[str]) -> int:
    try:
        with stoppable():
            status = app(arguments, prog_name="trlm", standalone_mode=False)
    except SystemExit as leaving:
        # The parser makes status 1 of a closed pipe, which would say that a claim does not hold.
        if isinstance(leaving.__context__, BrokenPipeError):
            raise leaving.__context__ from None
        raise
    if status == INTERRUPTED:
        raise KeyboardInterrupt
    return status if isinstance(status, int) else 0


def _command(arguments: list[str]) -> str:
    """`trlm NAME`, for messages about a command line that may not even parse."""
    known = {
        info.name or getattr(info.callback, "__name__", "") for info in app.registered_commands
    }
    named = next((a for a in arguments if a in known), "")
    return f"trlm {named}".strip()


def _refuse_usage(error: Exception, *, as_json: bool, command: str) -> int:
    if not as_json:
        error.show(file=sys.stderr)  # type: ignore[attr-defined]
        return CommandLineError.exit_status
    lines: str = error.format_message()  # type: ignore[attr-defined]
    detail = " ".join(lines.split()).rstrip(".")
    return report_error(
        CommandLineError(detail=detail, command=command), as_json=True, command=command
    )
