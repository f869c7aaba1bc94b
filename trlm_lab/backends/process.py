"""The process adapter `trlm-process-v1`: any program that speaks JSON and safetensors is a backend.

All cases go in one call of `COMMAND REQUEST OUTDIR`; what comes back is checked before it is
believed. A runtime may leave checkpoints out; it may not be wrong about names, types and shapes.
"""

from __future__ import annotations

import shlex
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from trlm_lab.backends.model_files import open_artifact
from trlm_lab.backends.process_command import ProcessCommand
from trlm_lab.backends.process_launch import launch, stderr_note
from trlm_lab.backends.process_output import CaseOutput
from trlm_lab.backends.process_parse import parse_command
from trlm_lab.backends.process_request import Report, read_report, request_map, write_request
from trlm_lab.backends.process_shapes import ModelShapes
from trlm_lab.base import canon
from trlm_lab.base.case_rules import check_decoding
from trlm_lab.base.interfaces import Subject
from trlm_lab.base.records import Availability, Case, EngineIdentity, Observation
from trlm_lab.errors import (
    CaseNotSupportedError,
    ModelShapeError,
    ProgramMissingError,
)


class ProcessRunner:
    """A `Runner` over a command line or a runner file; see docs/process-adapter.md."""

    def __init__(
        self,
        command: str | ProcessCommand,
        *,
        timeout: float | None = None,
        checkpoints: Sequence[str] = ("*",),
        engine: str = "",
    ) -> None:
        """Take the text behind `process:`; nothing is started.

        Args:
            command: a command line, the path of a runner file, or a command already parsed.
            timeout: seconds for one call; None is what the runner file says, else 600.
            checkpoints: names or globs to ask for; a runtime may answer with more or less.
            engine: the identity's name, instead of `process:` and what the runtime calls itself.

        Raises:
            ProcessCommandError, RunnerFileError: the text names nothing that can be run.
        """
        parsed = parse_command(command) if isinstance(command, str) else command
        if timeout is not None:
            parsed = replace(parsed, limits=replace(parsed.limits, seconds=timeout))
        self.command = parsed
        self.checkpoints = tuple(checkpoints)
        self.engine = engine
        text = command if isinstance(command, str) else shlex.join(parsed.arguments)
        self.name = f"process:{text}"

    def availability(self) -> Availability:
        """Whether the program is on the search path; it is not started. The version is its hash."""
        try:
            version = canon.content_id(self.command.identity())
        except ProgramMissingError as error:
            return Availability(False, reason=error.detail, fix=error.remedy)
        return Availability(True, version=version, features=("trlm-process-v1",))

    def open(self, subject: Subject) -> ProcessSession:
        """Check the program and the model's configuration; nothing is started yet.

        Raises:
            ProgramMissingError: no such program.
            ModelShapeError: the subject does not tell the model's shapes.
        """
        return ProcessSession(self, subject, shapes_of(subject))


def shapes_of(subject: Subject) -> ModelShapes:
    """Shapes from the model directory, or from the artifact where only that is given.

    Raises:
        ModelShapeError: there is neither, or no usable config.json.
        Refused: the artifact is unsound.
    """
    if subject.model_dir is not None:
        return ModelShapes.of_model_dir(subject.model_dir)
    if subject.artifact is not None:
        return ModelShapes.of_config(open_artifact(subject.artifact).config)
    detail = "neither a model directory nor an artifact is given"
    raise ModelShapeError(where="subject", detail=detail)


@dataclass(frozen=True)
class _Call:
    """One finished call: the cases it was given, by id, and where its output lies."""

    outdir: Path
    report: Report
    cases: dict[str, Case]
    decode_steps: int


class ProcessSession:
    """An opened process backend; a context manager that owns the temporary directory.

    `prepare` runs the command once over many cases; `run` of a case that was not prepared makes a
    call of its own. Before the first call the identity knows the program, not what it says of
    itself.
    """

    def __init__(self, runner: ProcessRunner, subject: Subject, shapes: ModelShapes) -> None:
        self._runner = runner
        self._subject = subject
        self._shapes = shapes
        self._code = runner.command.identity()
        self._calls: list[_Call] = []
        self._room = Path(tempfile.mkdtemp(prefix="trlm-process-"))

    @property
    def identity(self) -> EngineIdentity:
        """What the runtime says of itself, bound to the executable's hash and the arguments."""
        report = (
            self._calls[-1].report if self._calls else Report(str(self._code["executable"]), "", "")
        )
        return EngineIdentity(
            name=self._runner.engine or f"process:{report.engine}",
            version=report.version,
            profile=report.profile,
            build_sha256=canon.content_id(self._code),
            details={"protocol": "trlm-process-v1", **self._code},
        )

    def prepare(self, cases: Sequence[Case], decode_steps: int = 0) -> None:
        """Run the command once over all these cases, with greedy steps behind each.

        Raises:
            TokenRangeError, ContextLengthError, PositionRangeError, MaskValueError,
            AllKeysMaskedError: a case beyond the model; the command was not started.
            ProcessTimeoutError, ProcessCrashedError, ProcessReportError: the call failed.
        """
        for case in cases:
            check_decoding(case, decode_steps, self._shapes.V, self._shapes.context)
        place = self._room / f"call{len(self._calls)}"
        outdir, log, request = place / "out", place / "stderr.txt", place / "request.json"
        shutil.rmtree(place, ignore_errors=True)
        outdir.mkdir(parents=True)
        wanted = request_map(self._subject, cases, self._runner.checkpoints, decode_steps)
        write_request(request, wanted)
        launch(self._runner.command, request, outdir, log)
        report = read_report(outdir / "report.json", cases, stderr_note(log))
        known = {case.case_id: case for case in cases}
        self._calls.append(_Call(outdir, report, known, decode_steps))

    def run(self, case: Case) -> Iterator[Observation]:
        """Yield what the runtime exposed of `case`, in ladder order.

        Raises:
            CaseNotSupportedError: the runtime listed the case as not supported.
            ProcessOutputError: the case's file is missing or wrong; `where` names file and tensor.
        """
        yield from self.steps(case, 0)

    def steps(self, case: Case, decode_steps: int) -> Iterator[Observation]:
        """The same, and `step{s}.<name>` of the decode steps, and `generated`. Raises as `run`."""
        call = self._call_with(case, decode_steps)
        if case.case_id in call.report.not_supported:
            detail = call.report.not_supported[case.case_id]
            raise CaseNotSupportedError(where=f"case {case.case_id}", detail=detail)
        path = call.outdir / f"{case.case_id}.safetensors"
        yield from CaseOutput.check(path, case, self._shapes, decode_steps).observations()

    def _call_with(self, case: Case, decode_steps: int) -> _Call:
        for call in reversed(self._calls):
            if call.cases.get(case.case_id) == case and call.decode_steps == decode_steps:
                return call
        self.prepare([case], decode_steps)
        return self._calls[-1]

    def close(self) -> None:
        """Delete the temporary directory."""
        shutil.rmtree(self._room, ignore_errors=True)

    def __enter__(self) -> ProcessSession:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()
