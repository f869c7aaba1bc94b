"""Every refusal under --json is one document with code, place and fix, and its class's status."""

import json
from pathlib import Path
from typing import Any

import pytest

from trlm_lab import errors
from trlm_lab.errors import InternalError, SystemRefusedError, TrlmError
from trlm_lab.flows.cli import app as cli
from trlm_lab.flows.cli.app import run

#: Classes that only gather others; what is raised has a rule of its own.
ROOTS = {
    "TrlmError", "Refused", "UsageError", "InfrastructureError", "ClaimFailed", "SlmError",
    "Slm1Error",
}  # fmt: skip


def refusal(capsys: pytest.CaptureFixture[str], arguments: list[str], status: int) -> Any:
    assert run([*arguments, "--json"]) == status
    out = capsys.readouterr().out
    error = json.loads(out)["error"]
    assert set(error) == {"code", "where", "detail", "fix"}
    assert all(error.values()), error
    return error


@pytest.mark.parametrize(
    ("arguments", "where", "said"),
    [
        (["no-such-command"], "trlm", "no-such-command"),
        (["exec", "--no-such-option"], "trlm exec", "--no-such-option"),
        (["run"], "trlm run", "source"),
        (["compare", "one"], "trlm compare", "candidate"),
        (["capture", "--model", "m", "--cases", "smoke", "--out", "o", "--threads", "many"],
         "trlm capture", "--threads"),
        (["inspect", "a", "b"], "trlm inspect", "b"),
        ([], "trlm", "--json"),
    ],
)  # fmt: skip
def test_the_parsers_refusals_are_json_too(
    capsys: pytest.CaptureFixture[str], arguments: list[str], where: str, said: str
) -> None:
    error = refusal(capsys, arguments, 2)
    assert error["code"] == "USAGE"
    assert error["where"] == where
    assert said in error["detail"]
    assert error["fix"] == f"see `{where} --help`"


def test_words_without_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["exec", "--no-such-option"]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert "--no-such-option" in said.err


def every_error() -> list[type[TrlmError]]:
    found = [getattr(errors, name) for name in errors.__all__]
    return [c for c in found if c.__name__ not in ROOTS]


@pytest.mark.parametrize("kind", every_error(), ids=lambda c: c.__name__)
def test_every_error_has_code_fix_and_status(kind: type[TrlmError]) -> None:
    assert kind.code.replace("_", "").isalnum()
    assert kind.code == kind.code.upper()
    assert kind.fix
    roots = [errors.ClaimFailed, errors.UsageError, errors.Refused, errors.InfrastructureError]
    statuses = {root: status for status, root in enumerate(roots, start=1)}
    of = [root for root in roots if issubclass(kind, root)]
    assert [statuses[root] for root in of] == [kind.exit_status]


class Breaking:
    """The command tree, replaced by one that raises."""

    def __init__(self, error: BaseException) -> None:
        self.error = error
        self.registered_commands: list[Any] = []

    def __call__(self, *_: Any, **__: Any) -> int:
        raise self.error


@pytest.mark.parametrize(
    ("error", "status", "code"),
    [
        (errors.NotebookFailedError(where="nb", cell=1, last="x"), 1, "NOTEBOOK_FAILED"),
        (errors.UnknownNameError(kind="engine", name="x", known="y"), 2, "UNKNOWN_NAME"),
        (errors.PathMissingError(where="p"), 3, "PATH_MISSING"),
        (errors.EngineMissingError(where="e", reason="gone", remedy="get it"), 4, "ENGINE_MISSING"),
        (OSError(28, "No space left on device", "disk"), 4, SystemRefusedError.code),
        (KeyError("a fault of ours"), 4, InternalError.code),
        (MemoryError("too much"), 4, InternalError.code),
    ],
)
def test_each_class_has_its_status(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    error: BaseException,
    status: int,
    code: str,
) -> None:
    monkeypatch.setattr(cli, "app", Breaking(error))
    assert refusal(capsys, [], status)["code"] == code


def test_an_interruption_is_130(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cli, "app", Breaking(KeyboardInterrupt()))
    assert run([]) == 130
    assert "run the same command again" in capsys.readouterr().err


def test_success_is_zero(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert run(["faults", "list", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)
    assert run(["--version"]) == 0


def test_a_name_that_is_no_text_stands_in_json(
    capsysbinary: pytest.CaptureFixture[bytes],
) -> None:
    """A name of bytes beyond UTF-8 comes in as a surrogate; the document is UTF-8 all the same."""
    assert run(["verify", "no such \udcff", "--json"]) == 3
    row = json.loads(capsysbinary.readouterr().out.decode())
    assert row["error"]["where"] == "no such \udcff"
