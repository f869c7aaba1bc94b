"""`trlm exec --decode-steps`: served by engines and processes, refused by name where it is not."""

import json
import sys
from pathlib import Path

import pytest

from trlm_lab.flows.acquisition import Source
from trlm_lab.flows.cli.app import run
from trlm_lab.traces import SafetensorsTrace

EXAMPLE = Path(__file__).resolve().parents[2] / "examples/third_party_runtime/run.py"
DECODER = Path(__file__).parent / "programs" / "decoding_runtime.py"


@pytest.fixture
def cases(tmp_path: Path) -> Path:
    path = tmp_path / "cases.json"
    rows = [{"case_id": "a", "token_ids": [1, 5, 9]}]
    path.write_text(json.dumps({"schema": "trlm.process.cases.v1", "cases": rows}))
    return path


def execute(backend: str, source: Source, cases: Path, out: Path, steps: int) -> int:
    return run(
        ["exec", "--backend", backend, "--model", str(source.root), "--cases", str(cases),
         "--out", str(out), "--decode-steps", str(steps)]
    )  # fmt: skip


@pytest.mark.parametrize("backend", ["reference", "torch", f"process:{sys.executable} {DECODER}"])
def test_steps_are_written(small_source: Source, cases: Path, tmp_path: Path, backend: str) -> None:
    assert execute(backend, small_source, cases, tmp_path / "out", 2) == 0
    trace = SafetensorsTrace(tmp_path / "out")
    assert trace.read("a", "generated").shape == (2,)
    assert trace.read("a", "step1.logits").shape == (1, 512)
    assert trace.read("a", "step1.layers.3.attn_probs").shape == (6, 1, 5)
    assert "step2.logits" not in trace.names("a")


@pytest.mark.parametrize("backend", ["llama.cpp", f"process:{sys.executable} {EXAMPLE}"])
def test_a_prefill_is_not_taken_for_steps(
    small_source: Source, cases: Path, tmp_path: Path, backend: str
) -> None:
    assert execute(backend, small_source, cases, tmp_path / "out", 2) == 4


@pytest.mark.parametrize(
    ("lie", "word"),
    [
        ("--without-generated", "missing, though 2 decode steps"),
        ("--one-short", "expected [2]"),
        ("--one-more", "step 2 of 2"),
        ("--wrong-keys", "expected [6, 1, 4]"),
    ],
)
def test_an_answer_that_is_no_answer_is_infrastructure(
    small_source: Source, cases: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str],
    lie: str, word: str,
) -> None:  # fmt: skip
    backend = f"process:{sys.executable} {DECODER} {lie}"
    assert execute(backend, small_source, cases, tmp_path / "out", 2) == 4
    told = capsys.readouterr()
    assert "PROCESS_OUTPUT" in told.err
    assert word in told.err
