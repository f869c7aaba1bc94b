"""Single stages over stored traces, behind the commands of the same names."""

from __future__ import annotations

import tempfile
from pathlib import Path

from trlm_lab.base.interfaces import Subject, TraceView
from trlm_lab.base.records import (
    CaseSuite,
    TolerancePolicy,
)
from trlm_lab.calibrate import freeze, make_policy
from trlm_lab.cases import load_suite
from trlm_lab.errors import PathMissingError
from trlm_lab.flows.acquisition import admit_source
from trlm_lab.flows.calibration import measure_floors
from trlm_lab.flows.engines import runner
from trlm_lab.flows.own_drift import read_drift
from trlm_lab.flows.packing import pack_artifact
from trlm_lab.flows.progress import Board
from trlm_lab.flows.recording import record
from trlm_lab.flows.reviewed_files import NOTHING, Reviewed
from trlm_lab.flows.reviewed_source import reviewed_workspace
from trlm_lab.traces import SafetensorsTrace, TraceStore


def suite_of(cases: str) -> CaseSuite:
    """A suite by name, or from a case file."""
    path = Path(cases)
    if path.suffix != ".json" and not path.exists():
        return load_suite(cases)
    if not path.exists():
        raise PathMissingError(where=cases)
    return load_suite(path.resolve())


def open_trace(path: Path) -> TraceView:
    """A stored trace: a zarr directory, or the output directory of a process.

    Raises:
        PathMissingError: nothing is there.
    """
    if not path.exists():
        raise PathMissingError(where=str(path))
    if (path / "report.json").exists():
        return SafetensorsTrace(path)
    return TraceStore(path)


def calibrate_model(
    model: Path,
    cases: str,
    out: Path,
    board: Board,
    reviewed: Reviewed = NOTHING,
    *,
    drift: Path | None = None,
) -> TolerancePolicy:
    """Floors of the torch oracle against the float64 reference on a model, frozen into `out`.

    With `drift`, a record of `trlm oracle drift`, no floor is below what the oracle moved.
    """
    suite = suite_of(cases)
    with tempfile.TemporaryDirectory() as scratch:
        ws = reviewed_workspace(Path(scratch), board, reviewed)
        source, described = admit_source(ws, f"dir:{model}")
        moved = drift and read_drift(drift, source.root, described.config.config_id)
        packed = pack_artifact(ws, source, described, "f32")
        subject = Subject(model_dir=source.root, ids={})
        noisy = record(runner("torch"), subject, suite, board, out=ws.out / "calibration")
        subject = Subject(artifact=packed.artifact.path)
        floors, reference_id = measure_floors(ws, noisy, subject, suite, "calibration")
    policy = make_policy(
        floors,
        name=f"model-{source.snapshot.snapshot_id[:12]}",
        oracle_id=noisy.trace_id,
        reference_id=reference_id,
        own_drift=moved or None,
    )
    freeze(policy, out)
    return policy
