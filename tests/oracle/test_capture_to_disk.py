"""A capture on disk: the store holds what the session yields, and survives a kill."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from trlm_lab.base.records import Case, CaseTrace, EngineIdentity, Observation
from trlm_lab.errors import ObservationError
from trlm_lab.oracle import bench_capture
from trlm_lab.oracle.bench import Push, WriteCase
from trlm_lab.traces import Keeping, MemoryTrace, TraceStore, TraceWriter

CASES = [Case("a", (1, 2, 3)), Case("b", tuple(range(20))), Case("c", (7,))]

#: Captures case a whole and half of case b, says so, and then hangs in the middle of b.
HALF = """
import sys, time
from pathlib import Path
from trlm_lab.base.interfaces import Subject
from trlm_lab.base.records import Case
from trlm_lab.oracle import TorchRunner
from trlm_lab.traces import TraceWriter

def until(stream, name):
    for observation in stream:
        if observation.name == name:
            print("half", flush=True)
            time.sleep(600)
        yield observation

with TorchRunner(threads=2).open(Subject(model_dir=Path(sys.argv[1]))) as session:
    writer = TraceWriter(Path(sys.argv[2]), session.identity, {"weights": "x"})
    writer.write_case(Case("a", (1, 2, 3)), session.run(Case("a", (1, 2, 3))))
    case = Case("b", tuple(range(20)))
    writer.write_case(case, until(session.run(case), "layers.2.q_rope"))
"""


def test_the_store_holds_what_the_session_yields(session: Any, tmp_path: Path) -> None:
    memory = MemoryTrace(session.identity, {"weights": "x"})
    writer = TraceWriter(tmp_path / "t", session.identity, {"weights": "x"})
    for case in CASES:
        assert writer.write_case(case, session.run(case)) == memory.write_case(
            case, session.run(case)
        )
    store = TraceStore(tmp_path / "t")
    store.verify()
    assert store.trace_id == memory.trace_id
    stored = store.as_datatree()["b"]["layers.attn_scores"]
    assert stored.dims == ("L", "H", "T", "S")
    assert np.array_equal(stored.values[3], memory.read("b", "layers.3.attn_scores"))


@pytest.mark.slow
def test_a_killed_capture_is_resumed(session: Any, model_dir: Path, tmp_path: Path) -> None:
    """SIGKILL in the middle of a case: the case before stays, this one is captured again."""
    path = tmp_path / "t"
    command = [sys.executable, "-c", HALF, str(model_dir), str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == "half\n"
        os.kill(child.pid, signal.SIGKILL)
    assert child.returncode == -signal.SIGKILL
    assert list((path / ".tmp-b").glob("*/c.*"))
    store = TraceStore(path)
    assert store.case_ids() == ("a",)
    store.verify()

    ran: list[str] = []

    def watched(case: Case) -> Iterator[Observation]:
        ran.append(case.case_id)
        yield from session.run(case)

    writer = TraceWriter(path, session.identity, {"weights": "x"}, verify_kept=True)
    for case in CASES:
        writer.write_case(case, watched(case))
    assert ran == ["b", "c"]

    whole = TraceWriter(tmp_path / "whole", session.identity, {"weights": "x"})
    for case in CASES:
        whole.write_case(case, session.run(case))
    assert TraceStore(path).verify().trace_id == TraceStore(tmp_path / "whole").trace_id


def test_what_is_lent_is_what_is_yielded(session: Any, tmp_path: Path) -> None:
    """No copies, one thread: the same arrays in the same order, and the same trace."""
    case = CASES[1]
    streamed = {o.name: o.values for o in session.run(case)}
    seen: list[str] = []

    def sink(observation: Observation) -> None:
        seen.append(observation.name)
        assert observation.values.tobytes() == streamed[observation.name].tobytes()

    session.observe(case, sink)
    assert seen == list(streamed)
    traces = []
    for name, source in (("run", session.run(case)), ("lent", partial(session.observe, case))):
        traces.append(TraceWriter(tmp_path / name, session.identity, {}).write_case(case, source))
    assert traces[0] == traces[1]
    assert np.array_equal(session.plain_logits(case), streamed["logits"])


def test_what_a_sink_raises_comes_out_as_it_is(session: Any, tmp_path: Path) -> None:
    def full(observation: Observation) -> None:
        if observation.name == "layers.1.attn_probs":
            raise OSError(28, "no space left")

    with pytest.raises(OSError, match="no space"):
        session.observe(CASES[1], full)
    writer = TraceWriter(tmp_path / "t", session.identity, {})

    def twice(sink: Any) -> None:
        session.observe(CASES[0], sink)
        session.observe(CASES[0], sink)

    with pytest.raises(ObservationError, match="same name twice"):
        writer.write_case(CASES[0], twice)
    with pytest.raises(ObservationError, match="nothing"):
        writer.write_case(CASES[0], lambda sink: None)
    assert [p.name for p in (tmp_path / "t").iterdir()] == ["zarr.json"]


def test_the_bench_measures_all_its_parts(model_dir: Path, tmp_path: Path) -> None:
    kept: list[Keeping] = []

    def writing(keeping: Keeping) -> WriteCase:
        def write(path: Path, identity: EngineIdentity, case: Case, push: Push) -> CaseTrace:
            kept.append(keeping)
            return TraceWriter(path, identity, {}, keeping=keeping).write_case(case, push)

        return write

    full, figures = Keeping(), Keeping(statistics=True)
    found = bench_capture(model_dir, writing(full), writing(figures), tmp_path, tokens=8, repeats=2)
    row = found.to_map()
    assert kept == [full, full, figures, full, figures]
    assert all(value > 0 for value in row.values())
    assert row["bytes"] > 4 * 8 * 512
    assert row["full_ratio"] == row["full_s"] / row["full_aim_s"]
    assert row["statistics_ratio"] == row["statistics_s"] / row["statistics_aim_s"]
    assert row["full_aim_s"] > row["statistics_aim_s"] == 1.6 * row["forward_s"]
    assert list(tmp_path.iterdir()) == []
