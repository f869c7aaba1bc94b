"""A trace directory whose documents verify against themselves and describe nonsense."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from trlm_lab.base import canon
from trlm_lab.base.records import Case, EngineIdentity, Observation
from trlm_lab.errors import NotATraceError, TraceCorruptError
from trlm_lab.traces import TraceStore, TraceWriter
from trlm_lab.traces.documents import to_bytes


@pytest.fixture
def stored(
    tmp_path: Path,
    case: Case,
    identity: EngineIdentity,
    subject: dict[str, str],
    stream_of: Callable[..., list[Observation]],
) -> Path:
    """A sound trace of one case."""
    path = tmp_path / "t.zarr"
    TraceWriter(path, identity, subject).write_case(case, stream_of(case))
    assert TraceStore(path).verify()
    return path


def sealed_with(document: Path, change: Callable[[list[Any]], None]) -> None:
    """Change the list of arrays of a case group, and make its hash agree."""
    row = json.loads(document.read_bytes())
    change(row["attributes"]["arrays"])
    kept = {k: v for k, v in row["attributes"].items() if k != "record_sha256"}
    row["attributes"]["record_sha256"] = canon.content_id(kept)
    document.write_bytes(to_bytes(row))


@pytest.mark.parametrize(
    "change",
    [
        lambda rows: rows[3].__setitem__(1, "float16"),
        lambda rows: rows[3].__setitem__(2, [-3, -4]),
        lambda rows: rows[3].__setitem__(2, [3.0, 4]),
        lambda rows: rows[3].__setitem__(2, 12),
        lambda rows: rows[3].__setitem__(0, "../../embedding"),
        lambda rows: rows.append(rows[3]),
        lambda rows: rows[3].append("more"),
        lambda rows: rows.__setitem__(3, 7),
        lambda rows: rows[3].__setitem__(2, [1 << 40, 4]),
        lambda rows: rows[3].__setitem__(2, [7, 4]),
        lambda rows: rows[3].__setitem__(1, "float64"),
        lambda rows: rows[3].__setitem__(0, "layers.65536.q_proj"),
        lambda rows: rows[3].__setitem__(0, "layers.0.q_proj.statistics"),
        lambda rows: rows[3].__setitem__(0, "layers.0.attn_probs.picked"),
    ],
)
def test_declared_arrays_that_cannot_be(
    stored: Path, case: Case, change: Callable[[list[Any]], None]
) -> None:
    sealed_with(stored / case.case_id / "zarr.json", change)
    with pytest.raises(TraceCorruptError):
        TraceStore(stored).verify()


def test_a_pipe_for_a_document_is_not_waited_for(stored: Path, case: Case) -> None:
    document = stored / case.case_id / "zarr.json"
    document.unlink()
    os.mkfifo(document)
    with pytest.raises(TraceCorruptError):
        TraceStore(stored).verify()
    (stored / "zarr.json").unlink()
    os.mkfifo(stored / "zarr.json")
    with pytest.raises(NotATraceError):
        TraceStore(stored)
