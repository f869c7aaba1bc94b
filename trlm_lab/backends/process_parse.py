"""From the text of a command, or a runner file (`trlm.process.runner.v1`), to a `ProcessCommand`.

A command line is split by the rules of a POSIX shell, but no shell ever runs.
"""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trlm_lab.backends.process_command import DEFAULT_ENVIRONMENT, Limits, ProcessCommand
from trlm_lab.backends.process_files import names_file, read_object
from trlm_lab.errors import ProcessCommandError, RunnerFileError, TrlmError

RUNNER_SCHEMA = "trlm.process.runner.v1"


def parse_command(command: str) -> ProcessCommand:
    """A command line, or the path of a runner file when it ends in `.json`.

    Raises:
        ProcessCommandError: the text cannot be split, is empty, or names a missing runner file.
        RunnerFileError: the runner file breaks its schema.
    """
    runner = Path(command.strip())
    if runner.suffix == ".json" and names_file(runner):
        return read_runner_file(runner)
    arguments = _split(command)
    if len(arguments) == 1 and arguments[0].endswith(".json"):
        raise ProcessCommandError(where=command, command=command, detail="no such runner file")
    return ProcessCommand(arguments)


def _split(command: str) -> tuple[str, ...]:
    try:
        arguments = tuple(shlex.split(command))
    except ValueError as error:
        raise ProcessCommandError(where="command", command=command, detail=str(error)) from error
    if not arguments or not arguments[0] or "\0" in command:
        detail = "it is empty or holds a NUL"
        raise ProcessCommandError(where="command", command=command, detail=detail)
    return arguments


def read_runner_file(path: Path) -> ProcessCommand:
    """Read a `trlm.process.runner.v1` file.

    Relative arguments that name a file beside the runner file mean that file.

    Raises:
        RunnerFileError: not JSON, unknown or ill-typed fields, no arguments.
    """

    def refusal(detail: str) -> TrlmError:
        return RunnerFileError(where=str(path), detail=detail)

    row = read_object(path.resolve(), refusal)
    reader = _RunnerReader(path)
    reader.known("", row, {"schema", "arguments", "environment", "limits"})
    reader.require(row.get("schema") == RUNNER_SCHEMA, f"schema is not {RUNNER_SCHEMA!r}")
    arguments = reader.texts("arguments", row.get("arguments"))
    reader.require(bool(arguments and arguments[0]), "arguments is empty")
    environment = reader.texts("environment", row.get("environment", list(DEFAULT_ENVIRONMENT)))
    limits = reader.limits(row.get("limits", {}))
    beside = tuple(reader.beside(argument) for argument in arguments)
    return ProcessCommand(beside, environment, limits)


@dataclass(frozen=True)
class _RunnerReader:
    path: Path

    def require(self, condition: bool, detail: str) -> None:
        if not condition:
            raise RunnerFileError(where=str(self.path), detail=detail)

    def known(self, prefix: str, row: dict[str, Any], names: set[str]) -> None:
        unknown = sorted(key for key in row if key not in names and not key.startswith("x_"))
        self.require(not unknown, f"unknown fields {[prefix + name for name in unknown]}")

    def texts(self, field: str, value: Any) -> tuple[str, ...]:
        ok = isinstance(value, list) and all(isinstance(v, str) and "\0" not in v for v in value)
        self.require(ok, f"{field} is no list of texts")
        return tuple(value)

    def number(self, field: str, value: Any) -> Any:
        kinds = (int, float) if field == "seconds" else (int,)
        ok = type(value) in kinds and 0 < value < 2**63
        self.require(ok, f"limits.{field} is {value!r}, no positive number")
        return value

    def limits(self, row: Any) -> Limits:
        self.require(isinstance(row, dict), "limits is no map")
        self.known("limits.", row, {"seconds", "memory_bytes", "file_bytes"})
        given = {name: self.number(name, row[name]) for name in row if not name.startswith("x_")}
        return Limits(**given)

    def beside(self, argument: str) -> str:
        candidate = self.path.resolve().parent / argument
        named = argument and not Path(argument).is_absolute() and names_file(candidate)
        return str(candidate) if named else argument
