"""A plan read from a directory is of the form that was written, or there is no run."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from tests.flows.conftest import SmallRun
from trlm_lab.errors import NoRunError
from trlm_lab.flows.plan import PLAN_FILE, RunPlan
from trlm_lab.flows.run import Run


def test_a_plan_comes_back(tmp_path: Path) -> None:
    plan = RunPlan(source="dir:é", exact=("reference",), absent=(), threads=3)
    plan.save(tmp_path)
    assert RunPlan.load(tmp_path) == plan


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("judged", 3), ("judged", ["a"]), ("source", None), ("exact", "reference"),
        ("exact", [1]), ("exact", [["reference"]]), ("artifacts", 5), ("fault", {"a": 1}),
        ("threads", "x"), ("threads", True), ("resolutions", 4), ("unknown", "x"),
    ],
)  # fmt: skip
def test_a_value_of_another_kind(tmp_path: Path, name: str, value: object) -> None:
    row = RunPlan().to_map() | {name: value}
    (tmp_path / PLAN_FILE).write_text(json.dumps(row))
    with pytest.raises(NoRunError):
        RunPlan.load(tmp_path)


@pytest.mark.parametrize(
    "data",
    [
        b"[" * 200_000, b'{"threads": ' + b"9" * 5000 + b"}", b'{"source": "\\ud800"}', b"[]",
        b'{"fault": "a", "fault": ""}', b"\xff", b'{"source": "' + b" " * (2 << 20) + b'"}',
    ],
)  # fmt: skip
def test_a_file_that_is_no_plan(tmp_path: Path, data: bytes) -> None:
    (tmp_path / PLAN_FILE).write_bytes(data)
    with pytest.raises(NoRunError):
        RunPlan.load(tmp_path)


@pytest.mark.slow
@pytest.mark.xdist_group("flows")
def test_a_case_file_that_changed_since_the_run(small_run: SmallRun) -> None:
    run = Run.open(small_run.out)
    assert run.judged_suite.digest == run.plan.judged_digest
    other = Run(replace(run.plan, judged_digest="11" * 32), run.ws)
    with pytest.raises(NoRunError, match="the cases have changed"):
        _ = other.judged_suite
