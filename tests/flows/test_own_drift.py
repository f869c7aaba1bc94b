"""The oracle's own drift in the receipt graph, in the limits, and in a calibration by hand."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.flows.conftest import SmallRun
from tests.flows.forging import Forger, errors, with_facts
from tests.flows.test_cli import document
from trlm_lab.base.records import Case, CaseSuite
from trlm_lab.flows.own_drift import drift_case
from trlm_lab.flows.run import Run
from trlm_lab.oracle.drift import OracleDrift

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("flows")]


def test_every_policy_rests_on_the_drift_of_its_oracle(small_run: SmallRun) -> None:
    run = Run.open(small_run.out)
    store = run.ws.store
    for label, limits in run.limits.items():
        children = [store.get(child) for child in store.get(limits.node).children]
        assert [child.type for child in children[:2]] == ["oracle_run", "observation"]
        record = OracleDrift.from_map(store.get_value(children[1].metadata["drift_blob"]))
        assert record == run.drift[label].record
        assert limits.policy.drift_id == record.record_id
        moved = record.moved()
        assert max(moved.values()) > 0
        for entry in limits.policy.entries:
            assert entry.drift == moved[entry.checkpoint] <= entry.floor
    page = (small_run.out / "report.html").read_text()
    assert "How far the oracle moves by itself" in page


@pytest.mark.parametrize("key", ["drift_id", "repeats"])
def test_another_drift_below_a_policy_is_found(forger: Forger, key: str) -> None:
    node = next(
        n for n in forger.nodes("observation") if "drift_id" in forger.store.get(n).metadata
    )
    forger.forge({node: with_facts(**{key: False if key == "repeats" else "11" * 32})})
    assert "POLICY_DRIFT" in errors(forger.directory)


def test_the_case_is_the_shortest_that_moves() -> None:
    cases = [Case(f"c{n}", tuple(range(n))) for n in (1, 12, 9, 40)]
    assert drift_case(CaseSuite("s", tuple(cases))).case_id == "c9"
    assert drift_case(CaseSuite("s", tuple(cases[:1]))).case_id == "c1"


def test_a_calibration_by_hand_takes_a_record_of_this_model_alone(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, tiny_models: Callable[[str], Path]
) -> None:
    cases, record = tmp_path / "cases.json", tmp_path / "drift.cbor"
    row = {"case_id": "a", "token_ids": [1, 5, 9, 20, 3, 7, 2, 2, 8]}
    cases.write_text(json.dumps({"schema": "trlm.process.cases.v1", "cases": [row]}))
    model = str(tiny_models("olmo2"))
    asked = ["oracle", "drift", model, "--cases", str(cases), "--only", "batched"]
    made = document(capsys, [*asked, "--out", str(record)], 0)
    calibrate = ["calibrate", "--cases", str(cases), "--drift", str(record)]
    out = str(tmp_path / "policy.cbor")
    policy = document(capsys, [*calibrate, "--model", model, "--out", out], 0)
    assert policy["drift_id"] == made["record_id"]
    assert max(entry[5] for entry in policy["entries"]) > 0
    assert all(entry[5] <= entry[1] for entry in policy["entries"])
    other = str(tiny_models("gpt2"))
    refused = document(capsys, [*calibrate, "--model", other, "--out", out + "2"], 3)
    assert (refused["error"]["code"], "weights" in refused["error"]["detail"]) == ("RECORD", True)
    absent = [*calibrate[:-1], str(tmp_path / "none"), "--model", model, "--out", out + "3"]
    assert document(capsys, absent, 3)["error"]["code"] == "PATH_MISSING"
