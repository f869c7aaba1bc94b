"""The files of a process adapter as a trace: round trip, and every malformation refused."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import safetensors.numpy

from trlm_lab.base.records import Case, EngineIdentity, Observation
from trlm_lab.errors import ProcessOutputError, ProcessReportError, TraceMissingError
from trlm_lab.traces import (
    MemoryTrace,
    SafetensorsTrace,
    write_process_case,
    write_process_report,
)

Streams = Callable[..., list[Observation]]


@pytest.fixture
def out(tmp_path: Path, case: Case, identity: EngineIdentity, stream_of: Streams) -> Path:
    directory = tmp_path / "out"
    write_process_report(directory, identity, not_supported=["long"])
    write_process_case(directory, case.case_id, stream_of(case))
    return directory


def test_arrays_come_back_bit_for_bit(out: Path, case: Case, stream_of: Streams) -> None:
    view = SafetensorsTrace(out)
    stream = stream_of(case)
    assert view.case_ids() == ("words",)
    assert view.names("words") == tuple(o.name for o in stream)
    for observation in stream:
        got = view.read("words", observation.name)
        assert got.dtype == observation.values.dtype
        assert got.tobytes() == observation.values.tobytes()
        got += 1  # owned by the caller


def test_the_report_names_the_engine(out: Path, identity: EngineIdentity) -> None:
    view = SafetensorsTrace(out)
    assert (view.identity.name, view.identity.profile) == (identity.name, identity.profile)
    assert view.not_supported == ("long",)


def test_digests_are_those_of_any_other_trace(
    out: Path, case: Case, identity: EngineIdentity, stream_of: Streams
) -> None:
    memory = MemoryTrace(identity)
    expected = memory.write_case(case, stream_of(case)).arrays
    view = SafetensorsTrace(out, identity)
    assert view.record().case("words").arrays == expected
    assert len(view.trace_id) == 64


def test_the_public_reader_opens_what_is_written(out: Path, case: Case, stream_of: Streams) -> None:
    loaded = safetensors.numpy.load_file(out / "words.safetensors")
    assert set(loaded) == {o.name for o in stream_of(case)}
    for observation in stream_of(case):
        assert np.array_equal(loaded[observation.name], observation.values)


def test_files_of_the_public_writer_are_read(out: Path) -> None:
    values = np.arange(6, dtype=np.float32).reshape(2, 3)
    path = out / "other.safetensors"
    safetensors.numpy.save_file({"logits": values}, path, metadata={"by": "someone"})
    assert np.array_equal(SafetensorsTrace(out).read("other", "logits"), values)


def test_missing_names(out: Path) -> None:
    view = SafetensorsTrace(out)
    with pytest.raises(TraceMissingError):
        view.names("none")
    with pytest.raises(TraceMissingError):
        view.read("words", "layers.9.input")


@pytest.mark.parametrize(
    "text",
    [
        None,
        "",
        "[]",
        "\xff",
        "[" * 100_000,
        '{"schema":"other"}',
        '{"schema":"trlm.process.report.v1","engine":"e","version":1,"profile":"p"}',
        '{"schema":"trlm.process.report.v1","engine":"e","version":"1","profile":"p","not_supported":3}',
    ],
)
def test_process_report_error(out: Path, text: str | None) -> None:
    report = out / "report.json"
    if text is None:
        report.unlink()
    else:
        report.write_bytes(text.encode("latin-1"))
    with pytest.raises(ProcessReportError) as caught:
        SafetensorsTrace(out)
    assert caught.value.where == str(report)


def _file(header: Any, body: bytes = b"", length: int | None = None) -> bytes:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text) if length is None else length) + text + body


def _one(**changes: Any) -> bytes:
    row = {"dtype": "F32", "shape": [2], "data_offsets": [0, 8], **changes}
    return _file({"logits": {k: v for k, v in row.items() if v is not ...}}, bytes(8))


_EMPTY = b'"logits":{"dtype":"F32","shape":[0],"data_offsets":[0,0]}'
TWICE = b"{" + _EMPTY + b"," + _EMPTY + b"}"


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"", "cannot hold"),
        (b"\x01\x02", "cannot hold"),
        (_file({}, length=2**63), "the header claims"),
        (_file({}, length=3), "the header claims"),
        (_file(b"{]"), "no strict JSON"),
        (_file(b"{\xff"), "no strict JSON"),
        (_file([1]), "begin with an opening brace"),
        (_file(TWICE), "occurs twice"),
        (_one(dtype="F16", shape=[4]), "neither F32 nor I64"),
        (_one(dtype="F99"), "F99"),
        (_one(dtype=...), "has exactly the fields"),
        (_one(shape=[-2]), "no list of integers"),
        (_one(shape=[2**52, 2**52]), "logits"),
        (_one(data_offsets=[8, 0]), "logits"),
        (_one(data_offsets=[4, 12]), "belong to no tensor"),
        (_one() + b"x", "after the last tensor"),
        (_one()[:-1], "the file at"),
        (_file({"../x": {"dtype": "F32", "shape": [0], "data_offsets": [0, 0]}}), "no name"),
    ],
)
def test_process_output_error(out: Path, data: bytes, says: str) -> None:
    (out / "bad.safetensors").write_bytes(data)
    with pytest.raises(ProcessOutputError, match=says) as caught:
        SafetensorsTrace(out)
    assert "bad.safetensors" in caught.value.where


def test_a_file_that_shrinks_after_opening_is_refused(out: Path) -> None:
    view = SafetensorsTrace(out)
    path = out / "words.safetensors"
    path.write_bytes(path.read_bytes()[:-8])
    with pytest.raises(ProcessOutputError, match="short"):
        view.read("words", "logits.topk_values")
