"""`trlm oracle drift` and the engines in half precision, from the command line's side."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.flows.test_cli import document
from trlm_lab.base import canon
from trlm_lab.errors import UnknownNameError
from trlm_lab.flows.engines import needs_model_dir, runner
from trlm_lab.oracle import TorchRunner

Capture = pytest.CaptureFixture[str]
Tiny = Callable[[str], Path]


def _asked(model: Path, tmp_path: Path) -> list[str]:
    cases = tmp_path / "cases.json"
    row = {"case_id": "a", "token_ids": [1, 5, 9, 20, 3, 7]}
    cases.write_text(json.dumps({"schema": "trlm.process.cases.v1", "cases": [row]}))
    return ["oracle", "drift", str(model), "--cases", str(cases)]


def test_the_record_is_written_and_named_by_its_hash(
    capsys: Capture, tmp_path: Path, tiny_models: Tiny
) -> None:
    out = tmp_path / "drift.cbor"
    asked = _asked(tiny_models("gpt2"), tmp_path)
    row = document(capsys, [*asked, "--only", "threads-1", "--out", str(out)], 0)
    assert [condition["name"] for condition in row["conditions"]] == ["again", "threads-1"]
    assert row["repeats"] is True
    assert canon.sha256_hex(out.read_bytes()) == row["record_id"]
    assert row["schema"] == "trlm.oracle.drift.v1"


def test_an_unknown_condition_is_wrong_usage(
    capsys: Capture, tmp_path: Path, tiny_models: Tiny
) -> None:
    asked = _asked(tiny_models("gpt2"), tmp_path)
    error = document(capsys, [*asked, "--only", "moonlight"], 2)["error"]
    assert error["code"] == "UNKNOWN_NAME"
    assert "capability-avx2" in error["fix"] + error["detail"]


def test_torch_runs_in_half_precision_by_name() -> None:
    for dtype in ("bfloat16", "float16"):
        engine = runner(f"torch:{dtype}")
        assert isinstance(engine, TorchRunner)
        assert (engine.dtype, needs_model_dir(f"torch:{dtype}")) == (dtype, True)
    with pytest.raises(UnknownNameError, match="torch:int8"):
        runner("torch:int8")
