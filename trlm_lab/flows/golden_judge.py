"""`trlm golden judge`: an engine against golden containers alone; no oracle.

The engine runs the container's token ids. Each array that the container holds is compared with the
same part of the engine's: bit for bit where the container names an exact profile, within the limits
of the frozen policy that it names otherwise.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from trlm_lab.base import canon
from trlm_lab.base.interfaces import Session, Subject
from trlm_lab.base.records import EngineIdentity, Mismatch, Outcome, TolerancePolicy
from trlm_lab.base.records.outcome import outcome_of_error, worst
from trlm_lab.bisection import find_first_mismatch
from trlm_lab.calibrate import load_policy
from trlm_lab.errors import GoldenJudgeError, PathMissingError, SubjectMissingError, TrlmError
from trlm_lab.flows.acquisition import admit_source
from trlm_lab.flows.engines import needs_model_dir, runner
from trlm_lab.flows.golden import golden_directories
from trlm_lab.flows.golden_held import Held, Vectors, vectors_of
from trlm_lab.flows.golden_receipt import record_judgement
from trlm_lab.flows.grounds import Grounds
from trlm_lab.flows.progress import Board
from trlm_lab.flows.reviewed_files import NOTHING, Reviewed
from trlm_lab.flows.reviewed_source import read_reviewed
from trlm_lab.flows.store_directory import require_store
from trlm_lab.golden import Golden, exact_id
from trlm_lab.inspector import inspect


@dataclass(frozen=True)
class GoldenVerdict:
    """The judgement of one case."""

    case_id: str
    document_sha256: str
    tolerance: str
    judged: int
    of: int
    mismatch: Mismatch

    def row(self) -> dict[str, Any]:
        """JSON-ready row."""
        return {**vars(self), "mismatch": self.mismatch.to_map()}

    def table_row(self) -> dict[str, Any]:
        """One line for people."""
        found = self.mismatch
        return {
            "case": self.case_id,
            "tolerance": self.tolerance,
            "judged": f"{self.judged} of {self.of}",
            "verdict": found.verdict.value,
            "boundary": found.boundary,
            "after": found.after,
            "index": found.index,
            "note": found.note,
        }


@dataclass(frozen=True)
class Opened:
    """What an engine opened for judging: its configuration's id, and of a source its receipts."""

    subject: Subject
    config_id: str
    grounds: Grounds | None = None


@dataclass(frozen=True)
class Judgement:
    """The verdicts on an engine, and what a receipt says beside them."""

    verdicts: list[GoldenVerdict]
    engine: EngineIdentity
    containers: list[Golden]
    opened: Opened

    @property
    def outcome(self) -> Outcome:
        """The worst verdict."""
        return worst([verdict.mismatch.verdict for verdict in self.verdicts])

    def record(self, out: Path) -> str:
        """Write the receipt into the store at `out`; returns its node. Raises StoreWriteError."""
        artifact, grounds = self.opened.subject.artifact, self.opened.grounds
        return record_judgement(out, self.engine, artifact, self.containers, self.verdicts, grounds)


def judge_golden(
    path: Path,
    engine: str,
    *,
    artifact: Path | None = None,
    model: Path | None = None,
    policy: Path | None = None,
    out: Path | None = None,
    reviewed: Reviewed = NOTHING,
) -> list[GoldenVerdict]:
    """Judge an engine by every container under a path; `out` is a store for the receipt.

    Raises:
        DirectoryForeignError, StoreWriteError: `out` is no store, or cannot be written. What was
            judged is lost then; `judge` gives it before anything is written.
        TrlmError: as `judge`.
    """
    if out is not None:
        require_store(out)
    judgement = judge(
        path, engine, Board(quiet=True),
        artifact=artifact, model=model, policy=policy, reviewed=reviewed,
    )  # fmt: skip
    if out is not None:
        judgement.record(out)
    return judgement.verdicts


def judge(
    path: Path,
    engine: str,
    board: Board,
    *,
    artifact: Path | None = None,
    model: Path | None = None,
    policy: Path | None = None,
    reviewed: Reviewed = NOTHING,
) -> Judgement:
    """Judge an engine by every container under a path.

    Raises:
        GoldenError, GoldenJudgeError: a container is unsound, or cannot judge this engine.
        SubjectMissingError: the engine reads what is not given.
        ReviewedUnusedError: reviewed files, and no source is run.
        Refused: the model breaks a rule of sources; no engine was started.
    """
    cases = [vectors_of(directory) for directory in golden_directories(path)]
    frozen = None if policy is None else load_policy(policy)
    opened = _opened(engine, artifact, model, reviewed, board)
    other = [v for v in cases if opened.config_id != _config_id(v)]
    with runner(engine).open(opened.subject) as session:
        found = [_other_model(v, opened) for v in other]
        found = found or [_judge(vectors, session, frozen) for vectors in cases]
        identity = session.identity
    return Judgement(found, identity, [vectors.golden for vectors in other or cases], opened)


def _opened(
    engine: str, artifact: Path | None, model: Path | None, reviewed: Reviewed, board: Board
) -> Opened:
    """A `.slm` as it is; a model directory only as it was acquired and described."""
    settled = read_reviewed(reviewed)
    if not needs_model_dir(engine):
        path = _given(artifact, engine)
        settled.require_none(engine)
        return Opened(Subject(artifact=path), canon.content_id(inspect(path).config))
    spec = f"dir:{_given(model, engine)}"
    with tempfile.TemporaryDirectory() as scratch:
        ws = settled.workspace(Path(scratch), board)
        source, described = admit_source(ws, spec)
        grounds = Grounds.of(ws.store, described.nodes["effective_config"])
    return Opened(Subject(model_dir=source.root), described.config.config_id, grounds)


def _given(path: Path | None, engine: str) -> Path:
    if path is None:
        raise SubjectMissingError(where=engine)
    if not path.exists():
        raise PathMissingError(where=str(path))
    return path


def _config_id(vectors: Vectors) -> str:
    return vectors.golden.case.effective_config_identity.hex()


def _other_model(vectors: Vectors, opened: Opened) -> GoldenVerdict:
    what = "artifact" if opened.grounds is None else "model"
    note = f"the {what} has another effective configuration than the container names"
    found = Mismatch(
        Outcome.WRONG, case_id=vectors.case.case_id, boundary=what, after="source", note=note
    )
    return GoldenVerdict(
        vectors.case.case_id, vectors.golden.sha256, "", 0, len(vectors.golden.case.observations),
        found,
    )  # fmt: skip


def _judge(vectors: Vectors, session: Session, policy: TolerancePolicy | None) -> GoldenVerdict:
    limits, name = _limits(vectors, session.identity.profile, policy)
    reference = vectors.held()
    arrays: dict[str, NDArray[Any]] = {}
    try:
        arrays = dict(_parts(vectors, session))
        candidate = Held(vectors.case.case_id, arrays, session.identity)
        found = vectors.placed(find_first_mismatch(reference, candidate, limits))
    except TrlmError as error:
        # What stops the engine on one case is that case's verdict, never a pass.
        found = Mismatch(
            outcome_of_error(error.code), case_id=vectors.case.case_id, note=error.text
        )
    return GoldenVerdict(
        vectors.case.case_id,
        vectors.golden.sha256,
        name,
        len(arrays),
        len(vectors.golden.case.observations),
        found,
    )


def _parts(vectors: Vectors, session: Session) -> Iterator[tuple[str, NDArray[Any]]]:
    """Parts of the arrays that the container holds, copied so that the whole can go."""
    for observation in session.run(vectors.case):
        if observation.name in vectors.rows:
            yield observation.name, vectors.part(observation).copy()


def _limits(
    vectors: Vectors, profile: str, policy: TolerancePolicy | None
) -> tuple[TolerancePolicy | None, str]:
    """The policy to judge by, or None for equal bits; and its name."""
    if vectors.tolerance == exact_id(profile):
        return None, f"exact {profile}"
    if policy is not None and vectors.tolerance.hex() == policy.policy_id:
        return policy, f"policy {policy.name}"
    named = vectors.golden.case.extras.get("x_tolerance", vectors.tolerance.hex())
    given = "no policy" if policy is None else f"the policy {policy.policy_id}"
    detail = f"it asks for {named!r}; the engine's profile is {profile} and {given} is given"
    raise GoldenJudgeError(where=str(vectors.golden.root), detail=detail)
