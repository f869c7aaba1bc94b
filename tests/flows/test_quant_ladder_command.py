"""`trlm ladder`: documents, receipts, exit statuses, refusals."""

from pathlib import Path
from typing import Any

import pytest

from tests.flows.test_cli import document
from trlm_lab.flows.acquisition import Source
from trlm_lab.flows.cli.app import run
from trlm_lab.rungs import RUNGS

pytestmark = pytest.mark.xdist_group("flows")
Capture = pytest.CaptureFixture[str]
SMALL = "synthetic:llama-small"
DOWN = "model.layers.1.mlp.down_proj.weight"
ROW = ["ladder", SMALL, DOWN, "3", "--quant", "q4_g64"]


def test_a_row_climbed_and_verified(capsys: Capture, tmp_path: Path, small_source: Source) -> None:
    out = tmp_path / "store"
    found = document(capsys, [*ROW, "--element", "70", "--tokens", "5, 9", "--out", str(out)], 0)
    assert [rung["rung"] for rung in found["rungs"]] == list(RUNGS)
    assert {rung["outcome"] for rung in found["rungs"]} == {"MATCH"}
    assert (found["named"], found["case"], found["rows"]) == (None, [5, 9], [3, 4])
    assert set(found["rungs"][5]["claims"]) == {
        "reader", "inspector", "native-scalar", "wasm-scalar@wasmtime",
    }  # fmt: skip
    assert found["element"]["rows"][0]["rung"] == "source"
    verified = document(capsys, ["verify", str(out)], 0)
    assert "each step between two stored arrays was taken again" in verified["proves"]
    assert (verified["verdict"], len(found["receipts"])) == ("accept", 13)
    assert run([*ROW, "--tokens", "5, 9"]) == 0
    said = capsys.readouterr().out
    assert "every rung follows" in said
    assert "kernel_dot" in said


def test_a_planted_fault_is_named(capsys: Capture, small_source: Source) -> None:
    found = document(capsys, [*ROW, "--fault", "nibbles_swapped"], 1)
    assert found["named"] == "packed"
    assert found["rungs"][4]["first"]["by"] == "artifact"


@pytest.mark.parametrize(
    ("arguments", "code", "status"),
    [
        (["ladder", SMALL, "nothing"], "LADDER_TENSOR", 2),
        ([*ROW[:3], "96"], "LADDER_ROW", 2),
        ([*ROW, "--element", "256"], "LADDER_ROW", 2),
        ([*ROW, "--fault", "nothing"], "UNKNOWN_NAME", 2),
        ([*ROW, "--fault", "bytes_reversed"], "FAULT_NOT_APPLICABLE", 2),
        ([*ROW, "--tokens", "5;9"], "USAGE", 2),
        ([*ROW, "--tokens", "5,512"], "TOKEN_RANGE", 3),
        ([*ROW, "--artifact", "absent.slm"], "PATH_MISSING", 3),
    ],
)
def test_refusals(
    arguments: list[str], code: str, status: int, capsys: Capture, small_source: Source
) -> None:
    error: dict[str, Any] = document(capsys, arguments, status)["error"]
    assert error["code"] == code
    assert error["where"]
    assert error["fix"]
