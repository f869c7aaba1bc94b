"""Recorded vectors, the command line, the notebook."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.flows.golden.conftest import BOARD, IDS, MODEL
from trlm_lab.base.records import Outcome
from trlm_lab.errors import (
    UnknownNameError,
)
from trlm_lab.flows.checking import check_path
from trlm_lab.flows.cli.app import run
from trlm_lab.flows.golden_judge import judge_golden
from trlm_lab.flows.golden_vectors import make_vectors
from trlm_lab.flows.notebooks import run_notebook
from trlm_lab.flows.packing import Packed
from trlm_lab.flows.workspace import Workspace
from trlm_lab.golden import read_golden

pytestmark = pytest.mark.xdist_group("flows")


@pytest.mark.parametrize("engine", ["native-scalar", "reference"])
def test_the_small_vectors_are_the_recorded_ones(engine: str, tmp_path: Path) -> None:
    made = make_vectors("llama-small-4", tmp_path, BOARD, engine=engine)
    assert made.agrees, made.row()
    committed = Path(__file__).parents[3] / "examples" / "golden" / "llama-small-4"
    assert made.exported.golden.case.observations == read_golden(committed).case.observations


def test_unknown_vectors(tmp_path: Path) -> None:
    with pytest.raises(UnknownNameError):
        make_vectors("nothing", tmp_path, BOARD)


@pytest.mark.model
@pytest.mark.slow
def test_the_smollm2_vectors_are_the_recorded_ones(
    tmp_path: Path, smollm2_artifacts: dict[str, Packed]
) -> None:
    made = make_vectors("smollm2-135m-8", tmp_path, BOARD)
    assert made.agrees, made.row()
    (row,) = judge_golden(
        tmp_path / "smollm2-135m-8",
        "native-scalar",
        artifact=smollm2_artifacts["f32"].artifact.path,
    )
    assert row.mismatch.verdict is Outcome.MATCH


def test_commands(
    trace: Path, artifact: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def answer(status: int, *arguments: str) -> Any:
        assert run([*arguments, "--json"]) == status
        return json.loads(capsys.readouterr().out)

    out = str(tmp_path / "out")
    export = ["golden", "export", str(trace), "--model", MODEL, "--out", out]
    (row,) = answer(0, *export, "--cases", IDS[0], "--layers", "0,3", "--tokens", "2")
    assert (row["case"], row["observations"]) == (IDS[0], 44)
    assert answer(2, *export, "--layers", "all")["error"]["code"] == "UNKNOWN_NAME"
    assert answer(0, "golden", "verify", out)["verdict"] == "accept"
    assert answer(2, "golden", "verify", out, "--reader", "x")["error"]["code"] == "UNKNOWN_NAME"
    assert answer(3, "golden", "verify", "no/such")["error"]["code"] == "PATH_MISSING"
    judge = ["golden", "judge", out, "--artifact", str(artifact), "--engine"]
    assert answer(0, *judge, "native-scalar")["verdict"] == "MATCH"
    found = answer(1, *judge, "faulty:rope_pairing@3")
    assert found["cases"][0]["mismatch"]["boundary"] == "layers.3.q_rope"
    document = tmp_path / "out" / IDS[0] / "case.cbor"
    assert check_path(document)["verdict"] == "accept"
    document.write_bytes(document.read_bytes() + b"\x00")
    for arguments in (["golden", "verify", out], ["check", str(document)]):
        (finding,) = answer(3, *arguments)["findings"]
        assert finding["code"] == "GOLDEN_TRAILING"
        assert finding["fix"]


@pytest.mark.slow
def test_the_notebook(tmp_path: Path) -> None:
    committed = Path(__file__).parents[3] / "examples" / "golden" / "llama-small-4"
    ws = Workspace(tmp_path)
    done = run_notebook(ws, "07_golden", {"golden": str(committed)}, [])
    assert done.evidence == {
        "verified": {"python": "accept", "native": "accept"},
        "judged": {
            "native-scalar": ["MATCH"],
            "reference": ["MATCH"],
            "faulty:rope_pairing@2": ["WRONG"],
        },
        "named": ["layers.2.q_rope"],
    }
