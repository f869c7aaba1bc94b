"""Single stages over stored traces, behind the commands of the same names."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from trlm_lab.base.interfaces import Subject, TraceView
from trlm_lab.base.records import CaseSuite, Comparison, TolerancePolicy, TraceRecord
from trlm_lab.calibrate import freeze, load_policy, make_policy
from trlm_lab.cases import load_suite
from trlm_lab.compare import compare_traces
from trlm_lab.errors import PathMissingError, SubjectMissingError, TrlmError
from trlm_lab.flows.acquisition import acquire_source, describe_source
from trlm_lab.flows.calibration import measure_floors
from trlm_lab.flows.engines import needs_model_dir, runner
from trlm_lab.flows.execution import prepare
from trlm_lab.flows.packing import pack_artifact
from trlm_lab.flows.trial import record
from trlm_lab.flows.workspace import Workspace
from trlm_lab.traces import (
    SafetensorsTrace,
    TraceStore,
    TraceWriter,
    write_process_case,
    write_process_report,
)


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


def compare_stored(reference: Path, candidate: Path, policy: Path | None) -> Comparison:
    """Compare two stored traces."""
    frozen = load_policy(policy) if policy else None
    return compare_traces(open_trace(reference), open_trace(candidate), frozen)


def capture_oracle(model: Path, cases: str, out: Path, *, threads: int) -> TraceRecord:
    """Run the oracle over a model directory into a trace directory."""
    from trlm_lab.oracle import TorchRunner

    suite = suite_of(cases)
    with tempfile.TemporaryDirectory() as scratch:
        source = acquire_source(Workspace(Path(scratch)), f"dir:{model}")
    ids = {"snapshot": source.snapshot.snapshot_id}
    with TorchRunner(threads=threads).open(Subject(model_dir=source.root, ids=ids)) as session:
        writer = TraceWriter(out, session.identity, dict(ids), verify_kept=True)
        for case in suite.cases:
            if writer.kept(case) is None:
                writer.write_case(case, session.run(case))
    return TraceStore(out).record()


def execute_backend(
    backend: str,
    cases: str,
    out: Path,
    model: Path | None,
    artifact: Path | None,
    profile: str,
    timeout: float | None,
) -> dict[str, Any]:
    """Run one engine over a case file; one safetensors file a case.

    Raises:
        SubjectMissingError: neither a model directory nor an artifact is given.
    """
    if model is None and artifact is None:
        raise SubjectMissingError(where="trlm exec")
    suite = suite_of(cases)
    name = f"reference:{profile}" if backend == "reference" and profile else backend
    engine = runner(name, timeout=timeout)
    refused: list[str] = []
    with engine.open(_subject(name, model, artifact)) as session:
        prepare(session, suite.cases)
        for case in suite.cases:
            try:
                write_process_case(out, case.case_id, session.run(case))
            except TrlmError as error:
                if error.code != "NOT_SUPPORTED":
                    raise
                refused.append(case.case_id)
        write_process_report(out, session.identity, refused)
        identity = session.identity
    done = len(suite.cases) - len(refused)
    return {"engine": identity.name, "version": identity.version, "profile": identity.profile,
            "cases": done, "not_supported": refused, "out": str(out)}  # fmt: skip


def _subject(name: str, model: Path | None, artifact: Path | None) -> Subject:
    """Engines that read a `.slm` get one packed from the model directory where none is given."""
    if needs_model_dir(name):
        if model is None:
            raise SubjectMissingError(where=f"{name} reads a model directory")
        return Subject(artifact=artifact, model_dir=model, ids={})
    if artifact is None:
        with tempfile.TemporaryDirectory() as scratch:
            ws = Workspace(Path(scratch))
            source = acquire_source(ws, f"dir:{model}")
            artifact = pack_artifact(ws, source, describe_source(ws, source), "f32").artifact.path
    return Subject(artifact=artifact, model_dir=model, ids={})


def calibrate_model(model: Path, cases: str, out: Path) -> TolerancePolicy:
    """Floors of the torch oracle against the float64 reference on a model, frozen into `out`."""
    from trlm_lab.flows.progress import Board

    suite = suite_of(cases)
    with tempfile.TemporaryDirectory() as scratch, Board() as board:
        ws = Workspace(Path(scratch), board)
        source = acquire_source(ws, f"dir:{model}")
        packed = pack_artifact(ws, source, describe_source(ws, source), "f32")
        noisy = record(runner("torch"), Subject(model_dir=source.root, ids={}), suite, board)
        subject = Subject(artifact=packed.artifact.path)
        floors, reference_id = measure_floors(ws, noisy, subject, suite, "calibration")
    policy = make_policy(
        floors,
        name=f"model-{source.snapshot.snapshot_id[:12]}",
        oracle_id=noisy.trace_id,
        reference_id=reference_id,
    )
    freeze(policy, out)
    return policy
