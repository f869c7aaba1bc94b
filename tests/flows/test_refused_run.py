"""A run whose source is refused leaves its directory as it was."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.flows.conftest import SmallRun
from trlm_lab.errors import ConflictError, ResolutionUnmatchedError
from trlm_lab.flows.acquisition import acquire_source, admit_source
from trlm_lab.flows.cli.app import run
from trlm_lab.flows.conformance import conform
from trlm_lab.flows.occupancy import occupied
from trlm_lab.flows.plan import PLAN_FILE, RunPlan
from trlm_lab.flows.progress import Board
from trlm_lab.flows.reviewed_files import Reviewed
from trlm_lab.flows.verification import verify_directory
from trlm_lab.flows.workspace import Workspace

pytestmark = pytest.mark.xdist_group("flows")
PLAN = RunPlan(source="synthetic:llama-small", judged="small-judged",
               calibration="small-calibration", exact=("reference",))  # fmt: skip


def contents(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def test_a_new_directory_is_gone_and_an_empty_one_empty(
    unmatched: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    own = tmp_path / "own"
    own.mkdir()
    for out in (tmp_path / "deep" / "new", own):
        words = ["run", "synthetic:llama-small", "--out", str(out), "--json"]
        assert run([*words, "--resolution", str(unmatched)]) == 3
        assert json.loads(capsys.readouterr().out)["error"]["code"] == "RESOLUTION_UNMATCHED"
    assert not (tmp_path / "deep").exists()
    assert list(own.iterdir()) == []


def test_cases_beyond_the_model_leave_nothing_either(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cases = tmp_path / "cases.json"
    rows = [{"case_id": "a", "token_ids": [99_999]}]
    cases.write_text(json.dumps({"schema": "trlm.process.cases.v1", "cases": rows}))
    out = tmp_path / "new"
    words = ["run", "synthetic:llama-small", "--out", str(out), "--cases", str(cases), "--json"]
    assert run(words) == 3
    assert json.loads(capsys.readouterr().out)["error"]["code"] == "TOKEN_RANGE"
    assert not out.exists()


@pytest.mark.slow
def test_an_earlier_run_stays_sealed(small_run: SmallRun, unmatched: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(small_run.out, copy)
    before = contents(copy)
    with pytest.raises(ResolutionUnmatchedError):
        conform(small_run.plan, copy, Board(quiet=True), reviewed=Reviewed((unmatched,)))
    after = contents(copy)
    assert {k: after[k] for k in before if k != ".lock"} == {
        k: v for k, v in before.items() if k != ".lock"
    }
    assert not (copy / "reviewed").exists()
    assert verify_directory(copy).findings == []


def test_a_reopened_run_speaks_of_what_it_ran_on(raw_model: Path, tmp_path: Path) -> None:
    """The framework contradicts the changed files: they were acquired, and then refused."""
    spec, out = f"dir:{raw_model}", tmp_path / "run"
    ran, _ = admit_source(Workspace(out), spec)
    config, generation = raw_model / "config.json", raw_model / "generation_config.json"
    declared = json.loads(config.read_bytes())
    del declared["eos_token_id"]
    config.write_text(json.dumps(declared))
    generation.write_text(json.dumps({**json.loads(generation.read_bytes()), "eos_token_id": 5}))
    with pytest.raises(ConflictError):
        admit_source(Workspace(out), spec)
    reopened = acquire_source(Workspace(out, trusted=True), spec)
    assert reopened.snapshot.snapshot_id == ran.snapshot.snapshot_id


@pytest.mark.parametrize("keeps", [True, False])
def test_what_is_kept_stays(keeps: bool, tmp_path: Path) -> None:
    out = tmp_path / "new"

    def begin(keep: Callable[[], None]) -> Any:
        (out / "work").write_text("x")
        if keeps:
            keep()
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), occupied(out, PLAN) as keep:
        begin(keep)
    assert out.exists() == keeps
    if keeps:
        # A second attempt is refused; what the first one made is not its to remove.
        with pytest.raises(KeyboardInterrupt), occupied(out, PLAN):
            raise KeyboardInterrupt
        assert (out / PLAN_FILE).exists()
        assert (out / "work").exists()
