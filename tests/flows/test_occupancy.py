"""An output directory holds one job: strangers' files and a second writer are refused."""

import json
import os
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from tests.flows.conftest import SmallRun
from trlm_lab.base.file_lock import locked_at_once
from trlm_lab.errors import (
    DirectoryDiffersError,
    DirectoryForeignError,
    LockHeldError,
    PinUnknownError,
)
from trlm_lab.flows.attestation import ATTESTATIONS, attest, check_attestations
from trlm_lab.flows.conformance import conform, drop_strangers
from trlm_lab.flows.occupancy import check_directory, occupied, withdraw_receipt
from trlm_lab.flows.plan import PLAN_FILE, RunPlan
from trlm_lab.flows.progress import Board
from trlm_lab.flows.verification import verify_directory
from trlm_lab.flows.workspace import Workspace
from trlm_lab.receipts.history import SUPERSEDED, superseded_roots
from trlm_lab.receipts.verify import LOCK_FILE, RECEIPT_FILE, receipt_text

pytestmark = pytest.mark.xdist_group("flows")
PLAN = RunPlan(source="synthetic:llama-small", judged="small-judged",
               calibration="small-calibration", exact=("reference",))  # fmt: skip


def test_empty_and_absent_directories_are_free(tmp_path: Path) -> None:
    check_directory(tmp_path, PLAN)
    with occupied(tmp_path / "new", PLAN):
        assert RunPlan.load(tmp_path / "new") == PLAN
    check_directory(tmp_path / "new", PLAN)


def test_a_strangers_directory(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("x")
    with pytest.raises(DirectoryForeignError, match=r"here is thesis\.tex"):
        conform(PLAN, tmp_path, Board(quiet=True))
    assert [p.name for p in tmp_path.iterdir()] == ["thesis.tex"]
    (tmp_path / PLAN_FILE).write_text("{")
    with pytest.raises(DirectoryForeignError, match="cannot be read"):
        check_directory(tmp_path, PLAN)


@pytest.mark.parametrize(
    ("part", "other"),
    [
        ("source", {"source": "dir:/somewhere"}),
        ("judged", {"judged": "smoke"}),
        ("calibration", {"calibration": "smoke"}),
        ("artifacts", {"artifacts": ("f32",)}),
    ],
)
def test_a_run_of_another_job(tmp_path: Path, part: str, other: dict[str, object]) -> None:
    PLAN.save(tmp_path)
    with pytest.raises(DirectoryDiffersError, match=f"results of the {part} ") as refused:
        conform(replace(PLAN, **other), tmp_path, Board(quiet=True))
    assert "--out" in refused.value.remedy
    assert RunPlan.load(tmp_path) == PLAN


def test_engines_and_faults_may_change(tmp_path: Path) -> None:
    row = {**PLAN.to_map(), "field of an older version": 1, "fault": "norm_eps@1"}
    (tmp_path / PLAN_FILE).write_text(json.dumps(row))
    wanted = replace(PLAN, exact=("native-scalar", "reference"), absent=("x: y",))
    check_directory(tmp_path, wanted)
    assert json.loads((tmp_path / PLAN_FILE).read_text()) == row
    with pytest.raises(DirectoryDiffersError, match="results of the judged "):
        check_directory(tmp_path, replace(wanted, judged="smoke"))


def test_one_writer_at_a_time(tmp_path: Path) -> None:
    with locked_at_once(tmp_path / LOCK_FILE), pytest.raises(LockHeldError) as refused:
        conform(PLAN, tmp_path, Board(quiet=True))
    assert refused.value.facts["holder"] == str(os.getpid())
    assert refused.value.exit_status == 4


def test_the_lock_is_no_evidence(tmp_path: Path) -> None:
    """A directory verifies the same while its lock file is there, whoever held it."""
    (tmp_path / LOCK_FILE).write_text("1\n")
    findings = verify_directory(tmp_path).findings
    assert [f.code for f in findings] == ["RECEIPT_MISSING"]


def test_a_withdrawn_receipt_stays_readable(tmp_path: Path) -> None:
    withdraw_receipt(tmp_path)
    root = "ab" * 32
    (tmp_path / RECEIPT_FILE).write_text(receipt_text(root))
    withdraw_receipt(tmp_path)
    assert not (tmp_path / RECEIPT_FILE).exists()
    assert (tmp_path / SUPERSEDED / f"{root}.json").read_text() == receipt_text(root)
    (tmp_path / RECEIPT_FILE).write_text('{"conformance_receipt_id": "../../escape"}')
    withdraw_receipt(tmp_path)
    assert (tmp_path / SUPERSEDED / "escape.json").exists()


def test_attestations_go_with_the_receipt_that_they_speak_of(tmp_path: Path) -> None:
    root, folder = "ab" * 32, tmp_path / ATTESTATIONS
    folder.mkdir()
    (folder / "promotion-x.json").write_text("signed")
    (tmp_path / RECEIPT_FILE).write_text(receipt_text(root))
    assert withdraw_receipt(tmp_path) == 1
    kept = tmp_path / SUPERSEDED / f"{root}.attestations" / "promotion-x.json"
    assert kept.read_text() == "signed"
    assert not folder.exists()
    assert superseded_roots(tmp_path) == [root]
    # A run that was killed here has no receipt; what somebody put there since is not its word.
    folder.mkdir()
    (folder / "promotion-y.json").write_text("signed")
    assert withdraw_receipt(tmp_path) == 1
    assert (tmp_path / SUPERSEDED / "unsealed.attestations" / "promotion-y.json").exists()


def test_traces_of_an_earlier_plan_go(tmp_path: Path) -> None:
    kept = (
        "torch-f32-small-judged",
        "torch-q8_r128-small-calibration",
        "reference-f32-small-judged",
        "process-x-f32-small-judged",
    )
    for name in (*kept, "native-scalar-f32-small-judged", "torch-f32-other"):
        (tmp_path / "traces" / f"{name}.zarr").mkdir(parents=True)
    drop_strangers(Workspace(tmp_path), replace(PLAN, bounded=("process:x",)))
    assert {p.stem for p in (tmp_path / "traces").iterdir()} == set(kept)


@pytest.mark.slow
def test_a_source_that_cannot_be_had_withdraws_nothing(small_run: SmallRun, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(small_run.out, copy)
    gone = replace(small_run.plan, source="py:no-such-package-of-ours")
    row = {**small_run.plan.to_map(), "source": gone.source}
    (copy / PLAN_FILE).write_text(json.dumps(row))
    before = (copy / RECEIPT_FILE).read_bytes()
    with pytest.raises(PinUnknownError):
        conform(gone, copy, Board(quiet=True))
    assert (copy / RECEIPT_FILE).read_bytes() == before


@pytest.mark.slow
def test_a_second_run_supersedes_the_first_receipt(small_run: SmallRun, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(small_run.out, copy)
    leftover = copy / "blobs" / ".tmp-killed"
    leftover.write_bytes(b"half")
    written = attest(copy, None)
    fewer = replace(small_run.plan, exact=("reference",), fault="")
    done = conform(fewer, copy, Board(quiet=True))
    old = copy / SUPERSEDED / f"{small_run.done.receipt_id}.attestations"
    assert {p.name for p in old.iterdir()} == {p.name for p in written}
    assert not (copy / ATTESTATIONS).exists()
    assert (copy / SUPERSEDED / f"{small_run.done.receipt_id}.json").exists()
    assert done.receipt_id != small_run.done.receipt_id
    assert not leftover.exists()
    attest(copy, None)
    report = verify_directory(copy)
    check_attestations(copy, report)
    assert report.findings == []
