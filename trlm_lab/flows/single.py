"""Single stages over stored traces, behind the commands of the same names."""

from __future__ import annotations

import tempfile
from pathlib import Path

from trlm_lab.base.interfaces import Subject, TraceView
from trlm_lab.base.records import (
    CaseComparison,
    CaseSuite,
    Comparison,
    TolerancePolicy,
    TraceRecord,
)
from trlm_lab.calibrate import freeze, load_policy, make_policy
from trlm_lab.cases import load_suite
from trlm_lab.compare import compare_traces
from trlm_lab.errors import PathMissingError
from trlm_lab.flows.acquisition import admit_source
from trlm_lab.flows.calibration import measure_floors
from trlm_lab.flows.engines import runner
from trlm_lab.flows.packing import pack_artifact
from trlm_lab.flows.progress import Board
from trlm_lab.flows.reviewed_files import NOTHING, Reviewed
from trlm_lab.flows.reviewed_source import reviewed_workspace
from trlm_lab.flows.trial import record
from trlm_lab.traces import SafetensorsTrace, TraceStore, TraceWriter


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


def compare_stored(
    reference: Path, candidate: Path, policy: Path | None, board: Board
) -> Comparison:
    """Compare two stored traces."""
    frozen = load_policy(policy) if policy else None
    left, right = open_trace(reference), open_trace(candidate)
    cases = left.case_ids()
    if not cases:
        return compare_traces(left, right, frozen)
    rows: list[CaseComparison] = []
    with board.meter("compare", len(cases), "cases") as meter:
        for case_id in cases:
            one = compare_traces(left, right, frozen, cases=[case_id])
            rows += one.cases
            meter.advance()
    return Comparison(one.reference_id, one.candidate_id, one.policy_id, tuple(rows))


def capture_oracle(
    model: Path,
    cases: str,
    out: Path,
    board: Board,
    *,
    threads: int,
    reviewed: Reviewed = NOTHING,
) -> TraceRecord:
    """Run the oracle over a model directory into a trace directory.

    Raises:
        Refused: the model breaks a rule of sources; nothing was written.
        TraceSubjectError: the directory holds the trace of another model or configuration.
    """
    from trlm_lab.oracle import TorchRunner

    suite = suite_of(cases)
    with tempfile.TemporaryDirectory() as scratch:
        ws = reviewed_workspace(Path(scratch), board, reviewed)
        source, described = admit_source(ws, f"dir:{model}")
    ids = {"config": described.config.config_id, "snapshot": source.snapshot.snapshot_id}
    with (
        board.meter(f"torch on {suite.name}", suite.tokens, "tokens") as meter,
        TorchRunner(threads=threads).open(Subject(model_dir=source.root, ids=ids)) as session,
    ):
        writer = TraceWriter(out, session.identity, dict(ids), verify_kept=True)
        for case in suite.cases:
            if writer.kept(case) is None:
                writer.write_case(case, session.run(case))
            meter.advance(len(case.token_ids))
    return TraceStore(out).record()


def calibrate_model(
    model: Path, cases: str, out: Path, board: Board, reviewed: Reviewed = NOTHING
) -> TolerancePolicy:
    """Floors of the torch oracle against the float64 reference on a model, frozen into `out`."""
    suite = suite_of(cases)
    with tempfile.TemporaryDirectory() as scratch:
        ws = reviewed_workspace(Path(scratch), board, reviewed)
        source, described = admit_source(ws, f"dir:{model}")
        packed = pack_artifact(ws, source, described, "f32")
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
