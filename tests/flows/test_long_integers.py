"""A number of thousands of digits in any JSON file is an error of that file, with its place."""

import json
import struct
from collections.abc import Callable
from pathlib import Path

import pytest

from trlm_lab.backends.browser.frames import read_parts
from trlm_lab.base.records import TolerancePolicy
from trlm_lab.calibrate import freeze, load_policy
from trlm_lab.errors import (
    FrameError,
    PolicyFileError,
    ProcessReportError,
    TraceCorruptError,
    TrlmError,
)
from trlm_lab.flows.cli.app import run
from trlm_lab.traces import SafetensorsTrace, TraceStore

LONG = "9" * 5000
WORDS = "has 5000 digits, at most 4300 are read"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("config.json", f'{{"model_type": "llama", "vocab_size": {LONG}}}'),
        ("generation_config.json", f'{{"eos_token_id": {LONG}}}'),
        ("tokenizer.json", f'{{"model": {{"vocab": {{"a": {LONG}}}}}}}'),
        ("tokenizer_config.json", f'{{"model_max_length": {LONG}}}'),
        ("model.safetensors", f'{{"w": {{"dtype": "F32", "shape": [{LONG}]}}}}'),
    ],
)
def test_a_model_directory(
    name: str, text: str, raw_model: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = text.encode()
    header = struct.pack("<Q", len(data)) if name.endswith(".safetensors") else b""
    (raw_model / name).write_bytes(header + data)
    assert run(["check", str(raw_model), "--json"]) == 3
    printed = capsys.readouterr().out
    found = [f for f in json.loads(printed)["findings"] if WORDS in f["detail"]]
    assert found
    for finding in found:
        assert name in finding["where"]
        assert finding["code"] == "JSON"
        assert "line 1, column" in finding["detail"]
        assert finding["fix"]
    assert "set_int_max" not in printed


def trace_document(root: Path) -> None:
    (root / "zarr.json").write_text(f'{{"attributes": {LONG}}}')
    TraceStore(root)


def process_report(root: Path) -> None:
    (root / "report.json").write_text(f'{{"schema": {LONG}}}')
    SafetensorsTrace(root)


def policy_twin(root: Path) -> None:
    freeze(TolerancePolicy("p", 1, 4.0, "o", "r", "s", ("c",), ()), root / "p.cbor")
    (root / "p.json").write_text(f'{{"policy": {LONG}}}')
    load_policy(root / "p.cbor")


def page_frame(root: Path) -> None:
    header = f'{{"parts": {LONG}}}'.encode()
    read_parts(bytearray(struct.pack("<I", len(header)) + header))


@pytest.mark.parametrize(
    ("read", "error"),
    [
        (trace_document, TraceCorruptError),
        (process_report, ProcessReportError),
        (policy_twin, PolicyFileError),
        (page_frame, FrameError),
    ],
)
def test_other_files(read: Callable[[Path], None], error: type[TrlmError], tmp_path: Path) -> None:
    with pytest.raises(error, match=WORDS) as caught:
        read(tmp_path)
    assert "set_int_max" not in str(caught.value)


def test_a_case_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "cases.json"
    path.write_text(f'{{"schema": "trlm.process.cases.v1",\n "cases": [{LONG}]}}')
    command = ["exec", "--backend", "reference", "--artifact", str(path), "--cases", str(path)]
    assert run([*command, "--out", str(tmp_path / "out"), "--json"]) == 3
    error = json.loads(capsys.readouterr().out)["error"]
    assert "the integer at line 2, column 12 has 5000 digits" in error["detail"]
