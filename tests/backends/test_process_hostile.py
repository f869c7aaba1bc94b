"""Files that a runtime wrote badly on purpose: one clear error, never a stray exception."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from trlm_lab.backends.process_output import CaseOutput
from trlm_lab.backends.process_parse import parse_command
from trlm_lab.backends.process_request import read_report
from trlm_lab.backends.process_shapes import ModelShapes
from trlm_lab.base.records import Case
from trlm_lab.errors import ProcessOutputError, ProcessReportError, TrlmError

SHAPES = ModelShapes(L=2, D=8, H=4, K=2, E=2, F=12, V=20)
CASE = Case("a", (3, 1))
QUIET = settings(
    max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=8,
)


def container(header: Any, payload: bytes) -> bytes:
    text = json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + payload


def sound() -> bytes:
    embedding = np.arange(16, dtype=np.float32)
    header = {"embedding": {"dtype": "F32", "shape": [2, 8], "data_offsets": [0, 64]}}
    return container(header, embedding.tobytes())


def read(tmp_path: Path, data: bytes) -> list[str]:
    path = tmp_path / "a.safetensors"
    path.write_bytes(data)
    return [seen.name for seen in CaseOutput.check(path, CASE, SHAPES).observations()]


def test_the_sound_file_is_read(tmp_path: Path) -> None:
    assert read(tmp_path, sound()) == ["token_ids", "embedding"]


@QUIET
@given(st.data())
def test_flipped_and_cut_files(tmp_path: Path, data: st.DataObject) -> None:
    damaged = bytearray(sound())
    for _ in range(data.draw(st.integers(1, 3))):
        damaged[data.draw(st.integers(0, len(damaged) - 1))] = data.draw(st.integers(0, 255))
    cut = data.draw(st.integers(0, len(damaged)))
    try:
        names = read(tmp_path, bytes(damaged[: cut if cut % 2 else len(damaged)]))
    except ProcessOutputError:
        return
    assert set(names) <= {"token_ids", "embedding", "logits"}


@QUIET
@given(JSON, st.binary(max_size=64))
def test_headers_of_any_shape(tmp_path: Path, entry: Any, payload: bytes) -> None:
    for header in (entry, {"embedding": entry}, {"__metadata__": entry}):
        try:
            names = read(tmp_path, container(header, payload))
        except ProcessOutputError:
            continue
        assert names == ["token_ids"]


@QUIET
@given(st.lists(st.integers(-1, 2**64), max_size=3), st.lists(st.integers(-1, 2**64), max_size=3))
def test_declared_sizes_beyond_the_file(tmp_path: Path, shape: list, offsets: list) -> None:
    header = {"embedding": {"dtype": "F32", "shape": shape, "data_offsets": offsets}}
    with pytest.raises(ProcessOutputError):
        read(tmp_path, container(header, bytes(60)))


@QUIET
@given(st.dictionaries(st.sampled_from(["schema", "engine", "version", "not_supported"]), JSON))
def test_reports_of_any_shape(tmp_path: Path, fields: dict[str, Any]) -> None:
    path = tmp_path / "report.json"
    good = {
        "schema": "trlm.process.report.v1",
        "engine": "e",
        "version": "v",
        "profile": "p",
    }
    path.write_text(json.dumps({**good, **fields}))
    try:
        report = read_report(path, [CASE], "")
    except ProcessReportError:
        return
    assert set(report.not_supported) <= {"a"}


@QUIET
@given(st.text(max_size=30))
def test_command_lines_of_any_text(text: str) -> None:
    try:
        parsed = parse_command(text)
    except TrlmError:
        return
    assert parsed.arguments[0]


@QUIET
@given(JSON)
def test_runner_files_of_any_shape(tmp_path: Path, value: Any) -> None:
    path = tmp_path / "r.json"
    good = {"schema": "trlm.process.runner.v1", "arguments": ["x"]}
    for row in (value, {**good, "limits": value}, {**good, "environment": value}):
        path.write_text(json.dumps(row))
        try:
            parsed = parse_command(str(path))
        except TrlmError:
            continue
        assert parsed.arguments[0] == "x" or row is value
