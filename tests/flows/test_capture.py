"""`trlm capture` and `trlm compare`: statistics first, whole arrays where they are asked for."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.flows.test_cli import cases_file, document
from trlm_lab.base.model_parts import ladder_of
from trlm_lab.base.records import Case, CaseSuite, Observation
from trlm_lab.errors import TraceSpaceError, UsageError
from trlm_lab.flows import capture
from trlm_lab.flows.acquisition import Described, Source
from trlm_lab.flows.capture import capture_oracle, planned_bytes
from trlm_lab.flows.progress import Board
from trlm_lab.flows.stored_comparison import compare_in_full, compare_stored
from trlm_lab.traces import Keeping, Pick, TraceStore, TraceWriter

pytestmark = pytest.mark.xdist_group("flows")
Capture = pytest.CaptureFixture[str]
SUITE = CaseSuite("two", (Case("a", (1, 2, 3)), Case("b", tuple(range(20)))))


@pytest.fixture(scope="module")
def board() -> Board:
    return Board(quiet=True)


@pytest.fixture
def figures(small_source: Source, board: Board, tmp_path: Path) -> Path:
    """A trace of statistics alone."""
    out = tmp_path / "figures.zarr"
    capture_oracle(
        small_source.root, SUITE, out, board, threads=2, keeping=Keeping(statistics=True)
    )
    return out


@pytest.fixture(scope="module")
def whole(small_source: Source, board: Board, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same cases with every array."""
    out = tmp_path_factory.mktemp("whole") / "whole.zarr"
    capture_oracle(small_source.root, SUITE, out, board, threads=2)
    return out


def test_equal_statistics_prove_nothing(figures: Path, whole: Path, board: Board) -> None:
    found = compare_stored(figures, whole, None, board)
    store = TraceStore(whole)
    checkpoints = sum(len(store.names(case)) - 3 for case in ("a", "b"))
    assert (found.asked, found.agreeing) == ((), checkpoints)
    assert found.comparison.outcome.value == "NOT_SUPPORTED"
    assert found.to_map()["statistics_agree"] == checkpoints


def test_what_differs_is_asked_for_and_taken_whole(
    small_source: Source, figures: Path, whole: Path, board: Board, tmp_path: Path
) -> None:
    """An engine that is wrong in one entry of one checkpoint of one case."""
    wrong, held = tmp_path / "wrong.zarr", TraceStore(whole)
    writer = TraceWriter(wrong, held.identity, {})
    for case in SUITE.cases:
        stream = []
        for name in held.names(case.case_id):
            values = held.read(case.case_id, name)
            if (case.case_id, name) == ("b", "layers.2.k_rope"):
                values[7, 0, 1] += np.float32(1)
            stream.append(Observation(name, values))
        writer.write_case(case, stream)
    found = compare_stored(figures, wrong, None, board)
    (asked,) = found.asked
    assert (asked.case_id, asked.checkpoint) == ("b", "layers.2.k_rope")
    found = compare_in_full(figures, wrong, None, board, model=small_source.root)
    assert found.asked == ()
    (row,) = [r for c in found.comparison.cases for r in c.checkpoints if r.index]
    assert (row.checkpoint, row.index) == ("layers.2.k_rope", (7, 0, 1))
    store = TraceStore(figures)
    store.verify()
    assert [n for n in store.names("b") if n.startswith("layers")] == ["layers.2.k_rope"]
    assert [n for n in store.names("a") if n.startswith("layers")] == []


def test_nothing_is_captured_where_nothing_is_asked_for(
    figures: Path, whole: Path, board: Board
) -> None:
    found = compare_in_full(figures, whole, None, board, model=Path("/no/model"))
    assert found.asked == ()


def test_the_commands(capsys: Capture, small_source: Source, tmp_path: Path) -> None:
    cases, out = str(cases_file(tmp_path)), str(tmp_path / "t.zarr")
    base = ["capture", "--model", str(small_source.root), "--cases", cases, "--out"]
    document(capsys, [*base, out, "--statistics", "--whole", "logits,layers.0.*_proj"], 0)
    store = TraceStore(Path(out))
    assert "layers.0.gate_proj" in store.names(store.case_ids()[0])
    assert "layers.1.gate_proj" not in store.names(store.case_ids()[0])
    answer = document(capsys, ["compare", out, out], 0)
    assert answer["statistics_agree"] > 0
    for more, code in (
        (["--squares", "some"], "UNKNOWN_NAME"),
        (["--heads", "1"], "USAGE"),
        (["--heads", "1", "--rows", "x"], "USAGE"),
        (["--heads", "2,1", "--rows", "0"], "USAGE"),
    ):
        assert document(capsys, [*base, out, *more], 2)["error"]["code"] == code
    reviewed = ["compare", out, out, "--licence-decision", cases]
    assert document(capsys, reviewed, 2)["error"]["code"] == "USAGE"


def test_trace_space_error(
    small_source: Source, board: Board, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usage = capture.shutil.disk_usage(tmp_path)._replace(free=1000)
    monkeypatch.setattr(capture.shutil, "disk_usage", lambda path: usage)
    with pytest.raises(TraceSpaceError, match="1000 are free"):
        capture_oracle(small_source.root, SUITE, tmp_path / "t", board, threads=2)


def test_the_size_is_known_before(small_described: Described, whole: Path, figures: Path) -> None:
    """To the byte, but for ids, top k, indexes and documents."""
    config = small_described.config
    for path, keeping in ((whole, Keeping()), (figures, Keeping(statistics=True))):
        stored = TraceStore(path).stored["b"].trace.arrays
        names = set(ladder_of(config))
        sizes = {"float32": 4, "float64": 8}
        held = sum(
            sizes[a.dtype] * int(np.prod(a.shape))
            for a in stored
            if a.name.removesuffix(".statistics") in names
        )
        assert planned_bytes(config, SUITE.cases[1:], keeping) == held


def test_long_cases_are_planned_with_picked_squares(small_described: Described) -> None:
    config = small_described.config
    long = [Case("long", (0,) * 2048)]
    picked = planned_bytes(config, long, Keeping())
    assert planned_bytes(config, long, Keeping(all_squares=True)) - picked > 3 * 4 * 2048**2
    with pytest.raises(UsageError, match="of 6 and 2048"):
        planned_bytes(config, long, Keeping(pick=Pick((6,), (0,))))


def test_a_dtype_is_what_the_trace_says(
    small_source: Source,
    whole: Path,
    board: Board,
    tmp_path: Path,
    capsys: Capture,
) -> None:
    out, root = tmp_path / "half.zarr", str(small_source.root)
    asked = ["capture", "--model", root, "--cases", str(cases_file(tmp_path)), "--out", str(out)]
    row = document(capsys, [*asked, "--dtype", "bfloat16"], 0)
    identity = TraceStore(out).identity
    assert row["profile"] == identity.profile == "source-eager-bf16"
    assert identity.details["dtype"] == "bfloat16"
    values = TraceStore(out).read("a", "layers.1.output")
    assert values.dtype == np.float32
    assert not (values.view(np.uint32) & 0xFFFF).any()
    assert (TraceStore(whole).read("a", "layers.1.output").view(np.uint32) & 0xFFFF).any()
    assert document(capsys, asked, 3)["error"]["code"] == "TRACE_SUBJECT"
    assert document(capsys, [*asked, "--dtype", "int8"], 2)["error"]["code"] == "UNKNOWN_NAME"
