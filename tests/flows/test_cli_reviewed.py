"""Every command that acquires a SOURCE takes the files that a person reviewed about it."""

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
import typer

from tests.acquire.hub.conftest import REPO, hub
from tests.acquire.hub.server import HubServer, Repository
from trlm_lab.flows.cli.app import app, run
from trlm_lab.flows.cli.reviewed import takes_reviewed

__all__ = ["hub"]
OPTIONS = {"--resolution", "--licence-decision", "--tree-profile"}
#: It looks at a source that was acquired before.
ACQUIRES_NOTHING = {"trlm drift"}


def commands(command: Any, name: str = "trlm") -> dict[str, Any]:
    below = getattr(command, "commands", None)
    if not below:
        return {name: command}
    return {k: v for word, c in below.items() for k, v in commands(c, f"{name} {word}").items()}


def source_takers() -> set[str]:
    """Commands with an argument or option whose help says SOURCE, or lists the forms of one."""
    return {
        name
        for name, command in commands(typer.main.get_command(app)).items()
        if any("SOURCE" in (p.help or "") or "hf:" in (p.help or "") for p in command.params)
    } - ACQUIRES_NOTHING


def test_no_command_that_acquires_forgets_an_option() -> None:
    takers = source_takers()
    assert {"trlm run", "trlm acquire", "trlm describe", "trlm pack", "trlm ledger"} <= takers
    assert {"trlm bisect", "trlm faults", "trlm golden export"} <= takers
    assert {"trlm capture", "trlm exec", "trlm calibrate"} <= takers
    known = commands(typer.main.get_command(app))
    for name in takers:
        shown = {option for p in known[name].params for option in p.opts}
        assert shown >= OPTIONS, name
    others = {n for n in known if OPTIONS & {o for p in known[n].params for o in p.opts}}
    assert others == takers


def test_a_command_without_the_parameter_cannot_be_decorated() -> None:
    def command(source: str) -> int:
        return len(source)

    with pytest.raises(TypeError, match="no parameter 'reviewed'"):
        takes_reviewed(command)


CARD = b"---\nlicense: other\n---\n"


@pytest.fixture
def special(hub: HubServer, published_files: dict[str, bytes]) -> Repository:
    """A repository with a licence that no table knows, and exports beside the weights."""
    repository = hub.repository(REPO)
    repository.commit(published_files | {"README.md": CARD, "onnx/model.bin": b"x"})
    return repository


def reviews(folder: Path, text: bytes) -> list[str]:
    """The options that let `special` in."""

    def row(path: str, data: bytes) -> dict[str, str]:
        return {"path": path, "sha256": hashlib.sha256(data).hexdigest()}

    decision = {
        "schema": "trlm.licence_decision.v2", "source": f"hf:{REPO}", "spdx": "LicenseRef-tiny",
        "texts": [row("LICENSE", text)], "cards": [row("README.md", CARD)],
        "decision": "accepted", "redistribution": "none", "attribution": "Ada",
        "reviewer": "Ada",
    }  # fmt: skip
    rule = {"pattern": "onnx/*", "reason": "exports", "reviewer": "Ada"}
    profile = {"schema": "trlm.tree_profile.v1", "exceptions": [rule]}
    words: list[str] = []
    for option, document in (("licence-decision", decision), ("tree-profile", profile)):
        file = folder / f"{option}.json"
        file.write_text(json.dumps(document))
        words += [f"--{option}", str(file)]
    return words


@pytest.mark.slow
def test_what_was_reviewed_opens_every_command(
    special: Repository,
    published_files: dict[str, bytes],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    words = reviews(tmp_path, published_files["LICENSE"])
    source = f"hf:{REPO}"
    calls = [
        ["acquire", source],
        ["describe", source],
        ["pack", source, "--quant", "f32", "--out", str(tmp_path / "m.slm")],
        ["ledger", "verify", source, "--quant", "f32"],
    ]
    for call in calls:
        for given, code in (([], "HUB_TREE"), (words[2:], "LICENCE_UNDECIDED")):
            assert run([*call, *given, "--json"]) == 3
            assert json.loads(capsys.readouterr().out)["error"]["code"] == code
    for call in calls:
        assert run([*call, *words, "--json"]) == 0, capsys.readouterr().out
    capsys.readouterr()


def test_what_is_about_a_repository_is_refused_for_a_copy(
    raw_model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = reviews(tmp_path, b"")
    for given, status, code in ((words[:2], 3, "LICENCE_DECISION"), (words[2:], 2, "HUB_OPTION")):
        assert run(["describe", f"dir:{raw_model}", *given, "--json"]) == status
        assert json.loads(capsys.readouterr().out)["error"]["code"] == code
