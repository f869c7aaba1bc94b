"""The main job on a user's own directory of another family than llama, end to end."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from trlm_lab.base.records import SOUND, Outcome
from trlm_lab.flows import conformance
from trlm_lab.flows.planning import found, run_plan
from trlm_lab.flows.progress import Board
from trlm_lab.flows.verification import verify_directory

pytestmark = [pytest.mark.xdist_group("flows"), pytest.mark.slow]

#: Engines of the exact profile that start in a moment; the browser runs every family elsewhere.
ENGINES = ("native-scalar", "wasm-scalar@wasmtime")
#: The notebooks that look inside a model; the others show records.
NOTEBOOKS = ("04_oracle", "05_judge")


def _suite(path: Path, *cases: list[int]) -> str:
    rows = [{"case_id": f"{path.stem}-{len(ids)}", "token_ids": ids} for ids in cases]
    path.write_text(json.dumps({"schema": "trlm.process.cases.v1", "cases": rows}))
    return str(path)


def test_gpt2_from_a_directory_to_a_report(
    tmp_path: Path, tiny_models: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(conformance, "NOTEBOOK_NAMES", NOTEBOOKS)
    judged = _suite(tmp_path / "judged.json", [7], [1, 5, 9, 20, 3, 7, 96, 0])
    calibration = _suite(tmp_path / "calibration.json", [3], [2, 8], [4, 60, 2, 18, 31, 77, 5, 1])
    here, _ = found(ENGINES)
    plan = run_plan(
        f"dir:{tiny_models('gpt2')}", ",".join(here), judged, calibration, "f32",
        "norm_mean_kept@1",
    )  # fmt: skip
    done = conformance.conform(plan, tmp_path / "run", Board(quiet=True))
    outcomes = {(c.claim, c.engine, c.artifact): c.outcome for c in done.claims}
    # Nobody decided on the licence of a directory that a test wrote: that alone is open.
    open_claims = [key for key, outcome in outcomes.items() if outcome not in SOUND]
    assert {outcomes[key] for key in open_claims} == {Outcome.NOT_SUPPORTED}
    assert {key[1] for key in open_claims} == {"source"}
    for engine in here[1:]:
        assert outcomes["same bits in scalar-f32-v1", engine, "f32"] is Outcome.MATCH
    assert done.holds
    page = done.report.read_text(encoding="utf-8")
    assert "gpt2, 2 layers, hidden 48" in page
    assert "Error against depth, quantized artifact" not in page
    assert "named at layers.1.attn_norm" in done.planted
    # The suites are the user's own, and say so.
    said = verify_directory(tmp_path / "run").findings
    assert {finding.code for finding in said} == {"SUITE_FOREIGN"}
