"""A reviewed file that is none is refused by its form, at its place, before anything begins."""

import json
import os
from pathlib import Path

import pytest

from tests.acquire.hub.conftest import REPO, hub
from tests.acquire.hub.server import HubServer
from trlm_lab.base import strict_json
from trlm_lab.base.reviewed_file import MOST_BYTES
from trlm_lab.errors import JsonError
from trlm_lab.flows.cli.app import run

__all__ = ["hub"]
CODES = {
    "--resolution": "RESOLUTION_FILE",
    "--licence-decision": "LICENCE_DECISION",
    "--tree-profile": "TREE_PROFILE",
    "--secret-exceptions": "SECRET_EXCEPTIONS",
}
LONG_INTEGER = '{"schema": ' + "9" * 5000 + "}"


def broken(kind: str, path: Path) -> Path:
    if kind == "folder":
        path.mkdir()
    elif kind == "pipe":
        os.mkfifo(path)
    elif kind == "huge":
        path.touch()
        os.truncate(path, 64 << 30)
    elif kind == "loop":
        path.symlink_to(path)
    elif kind != "missing":
        path.write_text(kind)
    return path


@pytest.mark.parametrize("option", CODES)
@pytest.mark.parametrize(
    "kind",
    [
        "missing",
        "folder",
        "pipe",
        "huge",
        "loop",
        "{",
        "{}",
        "[]",
        pytest.param(LONG_INTEGER, id="long"),
    ],
)
def test_a_run_refuses_it_before_it_has_a_directory(
    option: str, kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, file = tmp_path / "run", broken(kind, tmp_path / "reviewed.json")
    command = ["run", "synthetic:llama-small", "--out", str(out), option, str(file), "--json"]
    assert run(command) == 3
    error = json.loads(capsys.readouterr().out)["error"]
    assert error["code"] == CODES[option]
    assert error["where"].startswith(str(file))
    assert error["fix"]
    assert "sys." not in error["detail"]
    assert not out.exists()


@pytest.mark.parametrize("option", ["--licence-decision", "--tree-profile"])
def test_no_server_is_asked_for_what_it_may_not_serve(
    hub: HubServer, option: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = broken("huge", tmp_path / "reviewed.json")
    assert run(["acquire", f"hf:{REPO}", option, str(file), "--json"]) == 3
    assert json.loads(capsys.readouterr().out)["error"]["code"] == CODES[option]
    assert not hub.seen


def test_a_file_without_a_size_is_read_to_the_limit() -> None:
    # Files of /proc say that they have no bytes; this one has more than it is asked for.
    endless = Path("/proc/self/status")
    with pytest.raises(JsonError, match="more bytes than the limit of 16"):
        strict_json.load_file(endless, limit=16)
    assert endless.stat().st_size == 0 < MOST_BYTES
