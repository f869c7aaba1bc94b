"""Putting a runtime on trial: `trlm bisect`, from a model directory and cases alone.

The oracle runs the cases; the limits come from seeded calibration cases of the same lengths that
share no input with them; the candidate runs; the judge names the first failing boundary.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from trlm_lab.base.interfaces import Subject, TraceView
from trlm_lab.base.records import (
    FAULTS,
    CaseSuite,
    EffectiveConfig,
    Mismatch,
    TolerancePolicy,
)
from trlm_lab.base.records.outcome import SEVERITY, outcome_of_error
from trlm_lab.calibrate import make_policy
from trlm_lab.cases import random_cases, require_fit
from trlm_lab.errors import TrlmError, UsageError
from trlm_lab.flows.acquisition import admit_source
from trlm_lab.flows.calibration import measure_floors
from trlm_lab.flows.capture import planned_bytes, require_space
from trlm_lab.flows.conditioning import Conditioning
from trlm_lab.flows.engines import needs_model_dir, runner
from trlm_lab.flows.packing import oracle_model_dir, pack_artifact
from trlm_lab.flows.progress import Board
from trlm_lab.flows.recording import WHOLE, record
from trlm_lab.flows.reviewed_files import NOTHING, Reviewed
from trlm_lab.flows.reviewed_source import reviewed_workspace
from trlm_lab.flows.workspace import Workspace

#: Lengths of calibration cases stay in this range whatever the judged cases are.
SHORTEST, LONGEST = 8, 128
CALIBRATION_CASES = 6
CALIBRATION_SEED = 20_261_129


@dataclass(frozen=True)
class Trial:
    """The answer of the judge and the policy it judged by (None where the candidate never ran)."""

    mismatch: Mismatch
    policy: TolerancePolicy | None


def calibration_for(suite: CaseSuite, config: EffectiveConfig) -> CaseSuite:
    """Seeded random cases of lengths like the suite's, within the model's context."""
    cap = min(LONGEST, config.max_position_embeddings)
    lengths = sorted({min(max(len(c.token_ids), SHORTEST), cap) for c in suite.cases})
    while len(lengths) < CALIBRATION_CASES:
        lengths.append(lengths[len(lengths) % len(set(lengths))])
    return random_cases(config.vocab_size, lengths, CALIBRATION_SEED)


def bisect_model(
    backend: str,
    model: str,
    suite: CaseSuite,
    out: Path,
    board: Board,
    *,
    timeout: float | None = None,
    quant: str = "f32",
    reviewed: Reviewed = NOTHING,
) -> Trial:
    """Judge `backend` on `model` over `suite`; errors of the backend become the verdict.

    The arrays lie below `out`, and memory holds those of one checkpoint at a time.

    Raises:
        TraceSpaceError: the disk does not hold the arrays of oracle and candidate.
        Refused: the model or the cases break a rule; the runtime was not started.
        UsageError: the engine's name asks for what this model does not have.
    """
    ws = reviewed_workspace(out, board, reviewed)
    source, described = admit_source(ws, model)
    require_fit(suite, described.config)
    candidate = runner(backend, timeout=timeout)
    packed = pack_artifact(ws, source, described, quant)
    model_dir = oracle_model_dir(ws, source, packed)
    ids = {"snapshot": source.snapshot.snapshot_id, "config": described.config.config_id}
    artifact = None if needs_model_dir(backend) else packed.artifact.path
    kept = ws.out / "trial"
    require_space(board, ws.out, 2 * planned_bytes(described.config, suite.cases, WHOLE))
    refused: dict[str, TrlmError] = {}
    try:
        subject = Subject(artifact, model_dir, ids)
        trace = record(candidate, subject, suite, board, refused, out=kept / "candidate")
    except UsageError:
        raise
    except TrlmError as error:
        return Trial(Mismatch(outcome_of_error(error.code), note=error.text), None)
    oracle, policy = oracle_and_policy(
        ws, model_dir, packed.artifact.path, described.config, suite, kept
    )
    third = Conditioning(ws, quant, oracle, Subject(artifact=packed.artifact.path, ids=ids), suite)
    found = third.bisect(trace, policy, cases=list(trace.case_ids()))
    return Trial(_with_refusals(found, refused), policy)


def _with_refusals(found: Mismatch, refused: dict[str, TrlmError]) -> Mismatch:
    """A fault outranks a case that could not be judged; such a case outranks a pass."""
    if not refused or found.verdict in FAULTS:
        return found
    verdicts = {case: outcome_of_error(error.code) for case, error in refused.items()}
    case_id = min(verdicts, key=lambda case: SEVERITY.index(verdicts[case]))
    return Mismatch(verdicts[case_id], case_id=case_id, note=refused[case_id].text)


def oracle_and_policy(
    ws: Workspace,
    model_dir: Path,
    artifact: Path,
    config: EffectiveConfig,
    suite: CaseSuite,
    kept: Path | None = None,
) -> tuple[TraceView, TolerancePolicy]:
    """The torch oracle on the judged cases, and limits frozen from calibration cases before.

    `artifact` holds the same weights as `model_dir`; the float64 reference reads it. The arrays
    lie in the directory `kept`, or in memory.
    """
    torch, subject = runner("torch"), Subject(model_dir=model_dir, ids={})
    calibration = calibration_for(suite, config)
    places = {name: kept and kept / name for name in ("calibration", "oracle")}
    noisy = record(torch, subject, calibration, ws.board, out=places["calibration"])
    floors, reference_id = measure_floors(
        ws, noisy, Subject(artifact=artifact), calibration, "calibration"
    )
    policy = make_policy(
        floors,
        name=f"trial-{config.config_id[:12]}",
        oracle_id=noisy.trace_id,
        reference_id=reference_id,
        judged=suite.cases,
    )
    return record(torch, subject, suite, ws.board, out=places["oracle"]), policy
