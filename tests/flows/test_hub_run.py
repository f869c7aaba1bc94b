"""A whole run on a repository of a Hub: custody in report and receipts, and a branch that moves."""

import base64
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.acquire.hub.conftest import REPO, hub
from tests.acquire.hub.server import HubServer, Repository
from tests.flows.test_cli import document
from trlm_lab.base.home import trlm_home
from trlm_lab.base.interfaces import Runner
from trlm_lab.flows.engines import runner
from trlm_lab.flows.run import Run

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("flows")]
__all__ = ["hub"]
SOURCE = f"hf:{REPO}@main"


@pytest.fixture(scope="session")
def built() -> Path:
    """Native libraries of the user's own cache, so that nothing is compiled again."""
    return trlm_home() / "native"


@pytest.fixture
def published(built: Path, hub: HubServer, published_files: dict[str, bytes]) -> Repository:
    """The small model as a publisher would upload it."""
    repository = hub.repository(REPO)
    repository.lfs = {"model.safetensors"}
    card = b"---\nlicense: apache-2.0\n---\n# Tiny\n"
    extra = {"README.md": card, "LICENSE": b"Apache License\n", "picture.png": b"\x89PNG"}
    repository.commit(published_files | extra)
    if built.is_dir():
        shutil.copytree(built, trlm_home() / "native")
    return repository


def change_eos(repository: Repository) -> str:
    """Move the branch to a commit whose generation stops elsewhere."""
    tree = dict(repository.commits[repository.branches["main"]])
    row = json.loads(tree["generation_config.json"])
    tree["generation_config.json"] = json.dumps({**row, "eos_token_id": 3}).encode()
    return repository.commit(tree)


def test_from_a_branch_to_a_signed_receipt(
    capsys: pytest.CaptureFixture[str],
    published: Repository,
    hub: HubServer,
    require: Callable[[Runner], None],
    tmp_path: Path,
) -> None:
    require(runner("native-scalar"))
    out, commit = tmp_path / "out", published.branches["main"]

    def command(*words: str, status: int = 0) -> Any:
        return document(capsys, [*words], status)

    done = command("run", SOURCE, "--out", str(out), "--backends", "reference,native-scalar",
                   "--cases", "smoke", "--calibration", "small-calibration",
                   "--quant", "f32")  # fmt: skip
    assert done["holds"]
    resolutions = [path for path in hub.seen.elements() if "/revision/" in path]
    assert len(resolutions) == 2  # before and after; no notebook asked again
    shows_custody(out, commit)
    assert command("verify", str(out))["findings"] == []

    moved = change_eos(published)
    seen = command("drift", SOURCE, status=1)
    assert (seen["pinned"], seen["observed"], seen["behaviour"]) == (commit, moved, True)
    (change,) = seen["changes"]
    assert change["fields"] == [["/eos_token_id", "2", "3"]]
    assert command("verify", str(out))["findings"] == []
    reopened = Run.open(out)
    assert reopened.source.snapshot.provenance["hub"]["commit"] == commit

    written = command("attest", str(out), "--new-key", str(tmp_path / "key"))
    checked = command("verify", str(out), "--key", written["public_key"])
    assert (checked["verdict"], checked["findings"]) == ("accept", [])
    assert commit in statement(written["attestations"], "acquisition")


def shows_custody(out: Path, commit: str) -> None:
    """Report and notebook name the commit, the revision, the license and every listed file."""
    page = (out / "report.html").read_text()
    assert f"<dd>{commit}</dd>" in page
    assert "Apache-2.0: accepted" in page
    assert "permitted with the licence text, and changes stated" in page
    notebook = (out / "notebooks" / "01_acquire.html").read_text()
    for text in (commit, "the same commit", "picture.png", "left out", "Apache-2.0"):
        assert text in notebook, text


def statement(paths: list[str], kind: str) -> str:
    """The payload of the one attestation of a kind."""
    (path,) = [p for p in map(Path, paths) if p.name.startswith(f"{kind}-")]
    return base64.b64decode(json.loads(path.read_text())["payload"]).decode()
