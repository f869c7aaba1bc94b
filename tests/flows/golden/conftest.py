"""The small model's trace, and containers of it: whole, and in bounded slices."""

from pathlib import Path

import pytest

from trlm_lab.base.interfaces import Subject
from trlm_lab.base.records import CaseSuite
from trlm_lab.cases import random_cases
from trlm_lab.flows.acquisition import Source
from trlm_lab.flows.engines import runner
from trlm_lab.flows.golden import export_golden
from trlm_lab.flows.packing import Packed
from trlm_lab.flows.progress import Board
from trlm_lab.golden import Bounds, Golden, read_golden
from trlm_lab.traces import TraceWriter

MODEL = "synthetic:llama-small"
BOARD = Board(quiet=True)
SUITE = random_cases(512, [6, 9], seed=91)
IDS = [case.case_id for case in SUITE.cases]


@pytest.fixture(scope="session")
def room(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("golden")


@pytest.fixture(scope="session")
def artifact(small_artifacts: dict[str, Packed]) -> Path:
    return small_artifacts["f32"].artifact.path


def captured(path: Path, engine: str, subject: Subject, suite: CaseSuite = SUITE) -> Path:
    with runner(engine).open(subject) as session:
        writer = TraceWriter(path, session.identity, dict(subject.ids or {}))
        for case in suite.cases:
            writer.write_case(case, session.run(case))
    return path


@pytest.fixture(scope="session")
def trace(room: Path, artifact: Path, small_source: Source) -> Path:
    """The reference engine on the small model."""
    ids = {"snapshot": small_source.snapshot.snapshot_id}
    return captured(room / "trace.zarr", "reference", Subject(artifact=artifact, ids=ids))


@pytest.fixture(scope="session")
def whole(room: Path, trace: Path) -> Path:
    """Containers of both cases, whole."""
    export_golden(trace, MODEL, room / "whole", BOARD)
    return room / "whole"


@pytest.fixture(scope="session")
def bounded(room: Path, trace: Path) -> Path:
    """One container of layers 0 and 3, two tokens and sixteen channels."""
    bounds = Bounds(layers=(0, 3), tokens=2, width=16)
    export_golden(trace, MODEL, room / "bounded", BOARD, cases=IDS[:1], bounds=bounds)
    return room / "bounded"


def golden_of(folder: Path) -> Golden:
    return read_golden(folder / IDS[0])


@pytest.fixture(scope="session")
def smaller_slm(room: Path) -> Path:
    """A `.slm` of another configuration."""
    from tests.backends import tiny_slm

    config = tiny_slm.tiny_config()
    path = room / "other.slm"
    path.write_bytes(tiny_slm.write_slm(config, tiny_slm.tiny_weights(config), "f32"))
    return path
