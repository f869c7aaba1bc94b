"""The main job end to end on the small model."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.flows.conftest import SmallRun
from trlm_lab.base.interfaces import Runner
from trlm_lab.base.records import Outcome
from trlm_lab.flows.conformance import NOTEBOOK_NAMES, conform
from trlm_lab.flows.engines import EXACT_ENGINES, EXACT_PROFILES, runner
from trlm_lab.flows.planning import run_plan
from trlm_lab.flows.progress import Board
from trlm_lab.flows.verification import verify_directory
from trlm_lab.receipts import ReceiptStore, walk

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("flows")]


@pytest.mark.parametrize("name", EXACT_ENGINES)
def test_every_exact_engine_ran(
    small_run: SmallRun, require: Callable[[Runner], None], name: str
) -> None:
    require(runner(name))
    assert name in small_run.plan.exact
    rows = [c for c in small_run.done.claims if c.engine == name and "same bits" in c.claim]
    expected = [("f32", Outcome.MATCH), ("q8_r128", Outcome.MATCH)]
    # The first engine is the one that the others are held to.
    first = name == small_run.plan.exact[0]
    assert [(c.artifact, c.outcome) for c in rows] == ([] if first else expected)


def test_each_exact_profile_is_held_to_its_own_bits(
    tmp_path: Path, require: Callable[[Runner], None]
) -> None:
    for name in EXACT_PROFILES:
        require(runner(name))
    plan = run_plan("synthetic:llama-small", "all", "", "", "f32", "")
    assert set(plan.exact) == set(EXACT_PROFILES)
    assert plan.stored == ("native-scalar", "native-simd")
    done = conform(plan, tmp_path / "run", Board(quiet=True))
    for name, profile in EXACT_PROFILES.items():
        found = {(c.claim, c.outcome) for c in done.claims if c.engine == name}
        same = (f"same bits in {profile}", Outcome.MATCH)
        # The first engine of a profile is the one that its others are held to, and is judged.
        assert (same in found) is (name not in plan.stored)
        judged = {c for c, _ in found if "frozen limit" in c}
        assert bool(judged) is (name in plan.stored)
    report = verify_directory(tmp_path / "run")
    assert report.sound, report.findings


def test_every_claim_holds(small_run: SmallRun) -> None:
    bad = [c for c in small_run.done.claims if c.outcome in (Outcome.WRONG, Outcome.INFRA)]
    assert bad == []
    assert small_run.done.holds


def test_the_planted_fault_is_named(small_run: SmallRun) -> None:
    assert "rope_pairing@2: named at layers.2.q_rope" in small_run.done.planted


def test_notebooks_report_and_figures_are_there(small_run: SmallRun) -> None:
    for name in NOTEBOOK_NAMES:
        assert (small_run.out / "notebooks" / f"{name}.ipynb").exists()
        assert (small_run.out / "notebooks" / f"{name}.html").exists()
    page = (small_run.out / "report.html").read_text()
    assert page.count("data:image/png") == 8
    assert "rope_pairing@2" in page


def test_the_store_verifies(small_run: SmallRun) -> None:
    report = verify_directory(small_run.out)
    assert report.findings == []
    assert report.root == small_run.done.receipt_id


def flipped(path: Path, offset: int) -> None:
    data = bytearray(path.read_bytes())
    data[offset] ^= 0x10
    path.write_bytes(data)


def test_a_flipped_byte_in_every_kind_of_file_is_found(small_run: SmallRun, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(small_run.out, copy)
    kinds = [
        *sorted((copy / "blobs").iterdir())[:: max(1, len(list((copy / "blobs").iterdir())) // 8)],
        *sorted((copy / "nodes").iterdir())[:: max(1, len(list((copy / "nodes").iterdir())) // 8)],
        copy / "notebooks" / "05_judge.ipynb",
        copy / "notebooks" / "05_judge.html",
        copy / "report.html",
        copy / "plan.json",
        copy / "receipt.json",
        copy / "figures" / "heatmap.png",
        next((copy / "traces").rglob("zarr.json")),
        max((p for p in (copy / "traces").rglob("*") if p.is_file()), key=lambda p: len(str(p))),
        next((copy / "policies").glob("*.cbor")),
    ]
    for path in kinds:
        sound = path.read_bytes()
        flipped(path, len(sound) // 2)
        assert not verify_directory(copy).sound, str(path.relative_to(copy))
        path.write_bytes(sound)
    assert verify_directory(copy).sound


def ids_by_type(out: Path) -> dict[str, list[str]]:
    """Node ids reachable from the root, by type."""
    root = json.loads((out / "receipt.json").read_text())["conformance_receipt_id"]
    found: dict[str, list[str]] = {}
    for node_id, node in walk(ReceiptStore(out), root):
        found.setdefault(node.type, []).append(node_id)
    return {kind: sorted(ids) for kind, ids in found.items()}


def test_a_run_without_reuse_gives_the_same_ids(small_run: SmallRun, tmp_path: Path) -> None:
    again = conform(small_run.plan, tmp_path / "again", Board(quiet=True))
    first, second = ids_by_type(small_run.out), ids_by_type(tmp_path / "again")
    for kind in ("source_tree", "oracle_run", "artifact", "trace", "tolerance_policy", "comparison",
                 "ledger", "effective_config", "fault_run", "promotion"):  # fmt: skip
        assert first[kind] == second[kind], kind
    assert again.holds


def test_a_second_run_reuses_and_still_verifies(small_run: SmallRun, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(small_run.out, copy)
    again = conform(small_run.plan, copy, Board(quiet=True))
    assert any(name.startswith("torch-f32") for name in again.reused)
    assert again.holds
    assert verify_directory(copy).sound
    for name in NOTEBOOK_NAMES:
        page = f"notebooks/{name}.ipynb"
        assert (copy / page).read_bytes() == (small_run.out / page).read_bytes()


def test_a_damaged_notebook_is_executed_again(small_run: SmallRun, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(small_run.out, copy)
    page = copy / "notebooks" / "03_pack.html"
    page.write_bytes(page.read_bytes() + b" ")
    conform(small_run.plan, copy, Board(quiet=True))
    assert not page.read_bytes().endswith(b" ")
    assert verify_directory(copy).sound


def test_a_damaged_trace_is_not_reused(small_run: SmallRun, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(small_run.out, copy)
    files = [p for p in (copy / "traces" / "torch-f32-small-judged.zarr").rglob("*") if p.is_file()]
    flipped(max(files, key=lambda p: p.stat().st_size), 0)
    again = conform(small_run.plan, copy, Board(quiet=True))
    assert "torch-f32-small-judged" not in again.reused
    assert again.holds
    assert ids_by_type(copy)["comparison"] == ids_by_type(small_run.out)["comparison"]


def test_a_relative_directory_from_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    plan = run_plan("synthetic:llama-small", "reference", "", "", "f32", "")
    done = conform(plan, Path("some/where"), Board(quiet=True))
    assert done.holds
    assert Path.cwd() == tmp_path
    assert verify_directory(tmp_path / "some" / "where").findings == []


def test_a_first_run_in_an_empty_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the run itself builds (snapshot, artifact, native library) must not unsettle it."""
    monkeypatch.setenv("TRLM_HOME", str(tmp_path / "home"))
    plan = run_plan("synthetic:llama-small", "native-scalar,reference", "", "", "q8_r128", "")
    done = conform(plan, tmp_path / "out", Board(quiet=True))
    assert done.holds
    assert {c.engine for c in done.claims} >= {"native-scalar", "reference", "torch"}


@pytest.mark.parametrize("seconds", [4.0, 9.0])
def test_a_killed_run_goes_on(small_run: SmallRun, tmp_path: Path, seconds: float) -> None:
    out = tmp_path / "killed"
    command = [sys.executable, "-m", "trlm_lab.flows.cli", "run", "synthetic:llama-small",
               "--out", str(out), "--backends", "reference"]  # fmt: skip
    process = subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
    )
    time.sleep(seconds)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    assert not verify_directory(out).sound
    done = subprocess.run([*command, "--json"], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout)["holds"] is True
    assert verify_directory(out).sound
