"""Refusals of the flows, each provoked."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from tests.flows.conftest import SmallRun
from trlm_lab.errors import (
    ArtifactUnsoundError,
    NoRunError,
    NotebookFailedError,
    NotStoredError,
    PartMissingError,
    UncheckableError,
    UnknownNameError,
    UnknownParameterError,
)
from trlm_lab.flows import notebooks
from trlm_lab.flows.acquisition import Source
from trlm_lab.flows.catalogue import run_catalogue
from trlm_lab.flows.checking import check_path
from trlm_lab.flows.packing import Packed, check_artifact
from trlm_lab.flows.plan import RunPlan
from trlm_lab.flows.progress import Board
from trlm_lab.flows.run import Run
from trlm_lab.flows.workspace import Workspace

pytestmark = pytest.mark.xdist_group("flows")


def test_no_run(tmp_path: Path) -> None:
    with pytest.raises(NoRunError):
        Run.open(tmp_path)
    (tmp_path / "plan.json").write_text('{"surprise": 1}')
    with pytest.raises(NoRunError):
        Run.open(tmp_path)


def test_a_reopened_run_is_never_computed_again(tmp_path: Path) -> None:
    RunPlan(source="synthetic:llama-small", judged="small-judged",
            calibration="small-calibration", exact=("reference",)).save(tmp_path)  # fmt: skip
    with pytest.raises(NoRunError):
        _ = Run.open(tmp_path).limits


@pytest.mark.slow
def test_not_stored(small_run: SmallRun) -> None:
    run = Run.open(small_run.out)
    assert run.trace("torch", "f32").case_ids()
    with pytest.raises(NotStoredError):
        run.trace("reference", "f32")


def test_artifact_unsound(
    small_source: Source, small_artifacts: dict[str, Packed], tmp_path: Path
) -> None:
    packed = small_artifacts["q8_r128"]
    artifact = packed.artifact
    assert check_artifact(artifact, packed.ledger, small_source.root)["findings"] == 0
    path = tmp_path / "m.slm"
    data = bytearray(artifact.path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)
    changed = type(artifact)(**{**vars(artifact), "path": path})
    with pytest.raises(ArtifactUnsoundError):
        check_artifact(changed, packed.ledger, small_source.root)


def test_the_ledger_is_held_against_the_source(
    small_source: Source, small_artifacts: dict[str, Packed], tmp_path: Path
) -> None:
    packed = small_artifacts["f32"]
    weights = tmp_path / "model.safetensors"
    shutil.copyfile(small_source.root / "model.safetensors", weights)
    with weights.open("r+b") as stream:
        stream.seek(-1, 2)
        last = stream.read(1)[0]
        stream.seek(-1, 2)
        stream.write(bytes([last ^ 1]))
    with pytest.raises(ArtifactUnsoundError, match="LEDGER_SOURCE"):
        check_artifact(packed.artifact, packed.ledger, tmp_path)


def test_the_ledger_is_held_to_its_rules(
    small_source: Source, small_artifacts: dict[str, Packed]
) -> None:
    packed = small_artifacts["f32"]
    fewer = replace(packed.ledger, entries=packed.ledger.entries[1:])
    with pytest.raises(ArtifactUnsoundError, match=r"LEDGER_NO_LINEAGE model\.embed_tokens"):
        check_artifact(packed.artifact, fewer, small_source.root)


def write_notebook(folder: Path, code: str) -> None:
    def cell(source: str, tags: list[str]) -> dict[str, object]:
        return {"cell_type": "code", "id": f"c{len(source)}", "metadata": {"tags": tags},
                "source": source, "outputs": [], "execution_count": None}  # fmt: skip

    document = {
        "cells": [cell('out = "x"', ["parameters"]), cell(code, [])],
        "metadata": {"kernelspec": {"name": "python3", "display_name": "p", "language": "python"}},
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    (folder / "page.ipynb").write_text(json.dumps(document))


def test_unknown_parameter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_notebook(tmp_path, "1")
    monkeypatch.setattr(notebooks, "NOTEBOOKS", tmp_path)
    with pytest.raises(UnknownParameterError):
        notebooks.run_notebook(Workspace(tmp_path / "ws"), "page", {"surprise": 1}, [])


@pytest.mark.slow
def test_notebook_failed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_notebook(tmp_path, 'raise ValueError("the page fails")')
    monkeypatch.setattr(notebooks, "NOTEBOOKS", tmp_path)
    with pytest.raises(NotebookFailedError, match="the page fails"):
        notebooks.run_notebook(Workspace(tmp_path / "ws"), "page", {}, [])


def test_uncheckable(tmp_path: Path) -> None:
    (tmp_path / "x.txt").write_text("x")
    with pytest.raises(UncheckableError):
        check_path(tmp_path / "x.txt")


def test_part_missing(tmp_path: Path) -> None:
    findings = check_path(tmp_path)["findings"]
    assert [f["code"] for f in findings] == [PartMissingError.code]


def test_unknown_fault() -> None:
    with pytest.raises(UnknownNameError):
        run_catalogue("synthetic:llama-small", ["f32"], ["no_such_fault"], Board(quiet=True))
