"""`trlm golden judge`: an engine against golden containers alone; no oracle, no source model.

The engine runs the container's token ids. Each array that the container holds is compared with the
same part of the engine's: bit for bit where the container names an exact profile, within the limits
of the frozen policy that it names otherwise.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from trlm_lab.base import canon
from trlm_lab.base.interfaces import Session, Subject
from trlm_lab.base.records import (
    ArrayDigest,
    Case,
    CaseTrace,
    EngineIdentity,
    Mismatch,
    Observation,
    Outcome,
    TolerancePolicy,
    TraceRecord,
)
from trlm_lab.base.records.outcome import outcome_of_error
from trlm_lab.bisection import find_first_mismatch
from trlm_lab.calibrate import load_policy
from trlm_lab.errors import (
    GoldenJudgeError,
    SubjectMissingError,
    TraceMissingError,
    TrlmError,
)
from trlm_lab.flows.engines import needs_model_dir, runner
from trlm_lab.flows.golden import golden_directories
from trlm_lab.flows.golden_receipt import record_judgement
from trlm_lab.flows.store_directory import require_store
from trlm_lab.golden import Golden, GoldenObservation, Slice, exact_id, parse_slice, read_golden
from trlm_lab.inspector import inspect

#: Item types that traces hold; arrays of others are not judged.
_JUDGED: Final[dict[str, np.dtype[Any]]] = {"f32": np.dtype("<f4"), "i64": np.dtype("<i8")}


@dataclass(frozen=True)
class Held:
    """The arrays of one case: a container's, or the same parts of an engine's. A `TraceView`."""

    case_id: str
    arrays: dict[str, NDArray[Any]]
    identity: EngineIdentity

    @property
    def trace_id(self) -> str:
        """Content id over the digests."""
        return self.record().trace_id

    def record(self) -> TraceRecord:
        """Digests of the parts, and who computed."""
        digests = tuple(ArrayDigest.of(Observation(n, v)) for n, v in self.arrays.items())
        return TraceRecord(self.identity, {}, (CaseTrace(self.case_id, "", digests),))

    def case_ids(self) -> tuple[str, ...]:
        """The one case."""
        return (self.case_id,)

    def names(self, case_id: str) -> tuple[str, ...]:
        """Names of the arrays."""
        return tuple(self.arrays)

    def read(self, case_id: str, name: str) -> NDArray[Any]:
        """One array. Raises TraceMissingError."""
        if name not in self.arrays:
            raise TraceMissingError(where=case_id, kind="array", name=name)
        return self.arrays[name]


@dataclass(frozen=True)
class Vectors:
    """A container ready to judge: its case, and by name the part of each array that it holds."""

    golden: Golden
    case: Case
    rows: dict[str, tuple[GoldenObservation, Slice | None]]

    @property
    def tolerance(self) -> bytes:
        """The one tolerance of the container."""
        return next(iter(self.rows.values()))[0].tolerance_profile

    def held(self) -> Held:
        """The container's arrays, every blob checked. Raises GoldenError."""
        arrays = {}
        for name, (row, _) in self.rows.items():
            flat = np.frombuffer(self.golden.blob(row), dtype=_JUDGED[row.dtype])
            arrays[name] = flat.reshape(row.shape).astype(flat.dtype.newbyteorder("="))
        digest = self.golden.case.oracle_generator_identity.hex()
        name = str(self.golden.case.extras.get("x_engine", "golden"))
        return Held(self.case.case_id, arrays, EngineIdentity(name, "", "", digest))

    def part(self, observation: Observation) -> NDArray[Any]:
        """The same part of an engine's array; one of another shape stays whole and so fails."""
        _, cut = self.rows[observation.name]
        values = observation.values
        return values if cut is None or values.shape != cut.whole else cut.cut(values)

    def placed(self, found: Mismatch) -> Mismatch:
        """The mismatch with its index counted in the whole array."""
        row = self.rows.get(found.checkpoint or "")
        if row is None or row[1] is None or found.index is None:
            return found
        starts = row[1].starts
        return replace(found, index=tuple(map(sum, zip(found.index, starts, strict=True))))


def vectors_of(path: Path) -> Vectors:
    """Read a container for judging.

    Raises:
        GoldenError: the container breaks a rule of its format.
        GoldenJudgeError: it holds no token ids, or nothing that can be judged.
    """
    golden = read_golden(path)
    rows: dict[str, tuple[GoldenObservation, Slice | None]] = {}
    for row in golden.case.observations:
        cut = None if row.slice_description is None else parse_slice(row.slice_description)
        fits = row.slice_description is None or (cut is not None and cut.shape == row.shape)
        if row.dtype in _JUDGED and fits and row.name not in rows:
            rows[row.name] = (row, cut)
    where = str(golden.root)
    if not rows:
        raise GoldenJudgeError(where=where, detail="it holds no array that can be judged")
    if len({row.tolerance_profile for row, _ in rows.values()}) > 1:
        raise GoldenJudgeError(where=where, detail="its arrays name several tolerances")
    return Vectors(golden, _case(golden), rows)


def _case(golden: Golden) -> Case:
    given, name = golden.case.input, golden.case.extras.get("x_case")
    raw = given.data_or_commitment
    if given.kind != "token_ids" or not raw or len(raw) % 4:
        detail = "its input is no list of token ids, u32 little-endian"
        raise GoldenJudgeError(where=str(golden.root), detail=detail)
    ids = tuple(np.frombuffer(raw, dtype="<u4").tolist())
    case_id = name if isinstance(name, str) else golden.case.case_id.hex()
    return Case(case_id, ids, None, given.position_ids, given.attention_mask)


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


def judge_golden(
    path: Path,
    engine: str,
    *,
    artifact: Path | None = None,
    model: Path | None = None,
    policy: Path | None = None,
    out: Path | None = None,
) -> list[GoldenVerdict]:
    """Judge an engine by every container under a path; `out` is a store for the receipt.

    Raises:
        GoldenError, GoldenJudgeError: a container is unsound, or cannot judge this engine.
        SubjectMissingError: the engine reads what is not given.
        DirectoryForeignError, StoreWriteError: `out` is no store, or cannot be written.
    """
    if out is not None:
        require_store(out)
    wants_model = needs_model_dir(engine)
    if (model if wants_model else artifact) is None:
        raise SubjectMissingError(where=engine)
    cases = [vectors_of(directory) for directory in golden_directories(path)]
    frozen = None if policy is None else load_policy(policy)
    subject = Subject(artifact=None if wants_model else artifact, model_dir=model, ids={})
    other = [v for v in cases if not wants_model and not _same_config(v, artifact)]
    with runner(engine).open(subject) as session:
        found = [_other_artifact(v) for v in other]
        found = found or [_judge(vectors, session, frozen) for vectors in cases]
        identity = session.identity
    if out is not None:
        containers = [vectors.golden for vectors in other or cases]
        record_judgement(out, identity, subject.artifact, containers, found)
    return found


def _same_config(vectors: Vectors, artifact: Path | None) -> bool:
    if artifact is None or not artifact.is_file():
        raise SubjectMissingError(where=str(artifact))
    identity = canon.content_id(inspect(artifact).config)
    return identity == vectors.golden.case.effective_config_identity.hex()


def _other_artifact(vectors: Vectors) -> GoldenVerdict:
    note = "the artifact has another effective configuration than the container names"
    found = Mismatch(
        Outcome.WRONG, case_id=vectors.case.case_id, boundary="artifact", after="source", note=note
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
