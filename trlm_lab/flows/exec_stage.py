"""`trlm exec`: one engine over a case file, in the form that the process adapter's runtimes write.

Results are written aside and moved in when all are there, so that the files of two runs never lie
together.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from trlm_lab.base import canon
from trlm_lab.base.blobs import file_sha256
from trlm_lab.base.interfaces import DecodingSession, Runner, Session, Subject
from trlm_lab.base.records import Case, CaseSuite, EngineIdentity, Observation
from trlm_lab.errors import (
    DecodeNotSupportedError,
    DirectoryDiffersError,
    DirectoryForeignError,
    PathMissingError,
    SourceMissingError,
    SubjectMissingError,
    TrlmError,
)
from trlm_lab.flows.acquisition import admit_source
from trlm_lab.flows.engines import needs_model_dir, runner
from trlm_lab.flows.execution import prepare
from trlm_lab.flows.leftovers import aside
from trlm_lab.flows.licensing import licence_state
from trlm_lab.flows.packing import pack_artifact
from trlm_lab.flows.probing import probed
from trlm_lab.flows.progress import Board
from trlm_lab.flows.reviewed_files import NOTHING, Reviewed
from trlm_lab.flows.reviewed_source import Settled, read_reviewed
from trlm_lab.flows.single import suite_of
from trlm_lab.traces import write_process_case, write_process_report

REPORT = "report.json"


@dataclass(frozen=True)
class ExecRequest:
    """What `trlm exec` is asked to do; `model` is a SOURCE, unless a given `artifact` is run."""

    backend: str
    cases: str
    out: Path
    model: Path | None = None
    artifact: Path | None = None
    profile: str = ""
    timeout: float | None = None
    decode_steps: int = 0
    reviewed: Reviewed = NOTHING

    @property
    def engine(self) -> str:
        """The engine's name with its profile."""
        chosen = self.backend == "reference" and self.profile
        return f"reference:{self.profile}" if chosen else self.backend


def execute_backend(request: ExecRequest, board: Board) -> dict[str, Any]:
    """Run one engine over a case file; one safetensors file a case.

    Raises:
        SubjectMissingError: neither a model directory nor an artifact is given.
        PathMissingError: one that is given does not exist.
        SourceMissingError: the model is no directory.
        DirectoryForeignError, DirectoryDiffersError: `out` holds something else.
        ReviewedUnusedError: reviewed files, and no source is run.
        Refused: the model breaks a rule of sources; no engine was started.
    """
    if request.model is None and request.artifact is None:
        raise SubjectMissingError(where="trlm exec")
    if request.model is None and needs_model_dir(request.engine):
        raise SubjectMissingError(where=f"{request.engine} reads a model directory")
    for path in (request.model, request.artifact):
        if path is not None and not path.exists():
            raise PathMissingError(where=str(path))
    if request.model is not None and not request.model.is_dir():
        raise SourceMissingError(where=str(request.model), wanted="a directory")
    settled = read_reviewed(request.reviewed)
    suite = suite_of(request.cases)
    engine = runner(request.engine, timeout=request.timeout)
    inputs = _inputs(request, suite, settled)
    check_output(request.out, inputs)
    with aside(request.out / "result") as place:
        subject, read = _subject(request, settled, board)
        inputs |= read
        # Known only now: the files may have changed since they were hashed above.
        check_output(request.out, inputs)
        identity, refused = _run(engine, subject, suite, place, board, request.decode_steps)
        write_process_report(place, identity, refused, inputs)
        _publish(place, request.out)
    done = len(suite.cases) - len(refused)
    return {"engine": identity.name, "version": identity.version, "profile": identity.profile,
            "cases": done, "not_supported": refused, "out": str(request.out),
            **({"licence": read["licence"]} if read else {})}  # fmt: skip


def _run(
    engine: Runner, subject: Subject, suite: CaseSuite, place: Path, board: Board, steps: int
) -> tuple[EngineIdentity, list[str]]:
    refused: list[str] = []
    title = f"{engine.name} on {suite.name}"
    with (
        board.meter(title, suite.tokens, "tokens") as meter,
        engine.open(subject) as session,
    ):
        observe = _observer(session, steps)
        prepare(session, suite.cases, steps)
        for case in suite.cases:
            try:
                write_process_case(place, case.case_id, observe(case))
            except TrlmError as error:
                if error.code != "NOT_SUPPORTED":
                    raise
                refused.append(case.case_id)
            meter.advance(len(case.token_ids))
        return probed(engine, session.identity), refused


def _observer(session: Session, steps: int) -> Callable[[Case], Iterator[Observation]]:
    """How a case is run: a prefill, with greedy steps behind it where they were asked for.

    Raises:
        DecodeNotSupportedError: the engine has no decode steps.
    """
    if steps == 0:
        return session.run
    if not isinstance(session, DecodingSession):
        raise DecodeNotSupportedError(where="--decode-steps", engine=session.identity.name)
    return partial(session.steps, decode_steps=steps)


def _inputs(request: ExecRequest, suite: CaseSuite, settled: Settled) -> dict[str, str]:
    """Content ids of everything that was asked for; no path and no time."""
    files = ",".join(file.sha256 for file in settled.files)
    return ({"reviewed": files} if files else {}) | {
        "engine": request.engine,
        "model": model_sha256(request.model) if request.model else "",
        "artifact": file_sha256(request.artifact) if request.artifact else "",
        "cases": suite.digest,
        "decode_steps": str(request.decode_steps),
    }


def model_sha256(model: Path) -> str:
    """One hash over the names and bytes of the files of a model directory."""
    files = sorted(p for p in model.iterdir() if p.is_file())
    return canon.content_id([[p.name, file_sha256(p)] for p in files])


def check_output(out: Path, inputs: dict[str, str]) -> None:
    """Refuse a directory with anything but an earlier result of the same inputs.

    Raises:
        DirectoryForeignError: files that `trlm exec` did not write.
        DirectoryDiffersError: the result of another engine, model, artifact or case file.
    """
    if out.exists() and not out.is_dir():
        raise DirectoryForeignError(where=str(out), kind="`trlm exec`", found="one plain file")
    here = out.iterdir() if out.is_dir() else ()
    names = sorted(p.name for p in here if not p.match(".result.*.part"))
    if not names:
        return
    strange = [n for n in names if n != REPORT and not n.endswith(".safetensors")]
    held = _held_inputs(out / REPORT)
    if strange or held is None:
        found = strange[0] if strange else names[0]
        raise DirectoryForeignError(where=str(out), kind="`trlm exec`", found=found)
    for part, wanted in inputs.items():
        if held.get(part) != wanted:
            facts = {"part": part, "held": held.get(part) or "(none)", "wanted": wanted or "(none)"}
            raise DirectoryDiffersError(where=str(out), **facts)


def _held_inputs(report: Path) -> dict[str, Any] | None:
    try:
        held = json.loads(report.read_text(encoding="utf-8"))["inputs"]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return held if isinstance(held, dict) else None


def _publish(place: Path, out: Path) -> None:
    """Move the finished files in; the report is gone first and comes back last.

    Without a report nobody takes the directory for a result. It is not renamed itself, since it
    may be a mount point.
    """
    (out / REPORT).unlink(missing_ok=True)
    for old in out.glob("*.safetensors"):
        old.unlink()
    for new in sorted(place.iterdir(), key=lambda p: p.name == REPORT):
        new.replace(out / new.name)


def _subject(
    request: ExecRequest, settled: Settled, board: Board
) -> tuple[Subject, dict[str, str]]:
    """What the engine reads: a `.slm`, packed from the model where none is given, or its snapshot.

    The directory itself is never run, only what was acquired out of it and described; beside the
    subject stands what that was.
    """
    reads_model = needs_model_dir(request.engine)
    if request.artifact is not None and not reads_model:
        settled.require_none(request.engine)
        return Subject(artifact=request.artifact), {}
    with tempfile.TemporaryDirectory() as scratch:
        ws = settled.workspace(Path(scratch), board)
        source, described = admit_source(ws, f"dir:{request.model}")
        ids = {"config": described.config.config_id, "snapshot": source.snapshot.snapshot_id}
        read = {**ids, "licence": licence_state(source.snapshot.provenance.get("licence"))}
        if reads_model:
            return Subject(artifact=request.artifact, model_dir=source.root, ids=ids), read
        packed = pack_artifact(ws, source, described, "f32")
    return Subject(artifact=packed.artifact.path, ids=ids), read
