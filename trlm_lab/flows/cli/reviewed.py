"""The options of every command that acquires a SOURCE: files that a person reviewed about it.

A command says `reviewed: Reviewed` among its parameters and is decorated; the options stand here
alone, so that no command has some of them only.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from trlm_lab.flows.reviewed_files import Reviewed

Resolutions = Annotated[
    list[Path] | None,
    typer.Option("--resolution", help="A reviewed file that settles one conflict; repeatable."),
]
LicenceDecision = Annotated[
    Path | None, typer.Option("--licence-decision", help="A reviewed decision on the licence.")
]
TreeProfileFile = Annotated[
    Path | None,
    typer.Option("--tree-profile", help="A reviewed file of what a repository may also hold."),
]
#: Of the commands that publish.
SecretExceptionsFile = Annotated[
    Path | None, typer.Option(help="A reviewed file of scan findings that are no secrets.")
]
_PARAMETER = "reviewed"


def _options(
    resolution: Resolutions = None,
    licence_decision: LicenceDecision = None,
    tree_profile: TreeProfileFile = None,
) -> Reviewed:
    return Reviewed(tuple(resolution or ()), licence_decision, tree_profile)


def takes_reviewed(command: Callable[..., int]) -> Callable[..., int]:
    """`command` with the options in the place of its parameter `reviewed`."""
    options = inspect.signature(_options, eval_str=True).parameters
    signature = inspect.signature(command, eval_str=True)
    own = [p for p in signature.parameters.values() if p.name != _PARAMETER]
    if len(own) == len(signature.parameters):
        raise TypeError(f"{command.__name__} has no parameter {_PARAMETER!r}")

    @functools.wraps(command)
    def called(**given: Any) -> int:
        reviewed = _options(**{name: given.pop(name) for name in options})
        return command(**given, reviewed=reviewed)

    # Options are named, so their order is that of the help alone.
    parameters = [p.replace(kind=p.KEYWORD_ONLY) for p in (*own, *options.values())]
    called.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    called.__annotations__ = {p.name: p.annotation for p in parameters} | {"return": int}
    return called
