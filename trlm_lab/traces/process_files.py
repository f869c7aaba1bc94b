"""The output directory of `trlm-process-v1`: read as a trace, and written by `trlm exec`."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from trlm_lab.base import canon, strict_json
from trlm_lab.base.blobs import file_sha256, write_atomically
from trlm_lab.base.records import (
    ArrayDigest,
    CaseTrace,
    EngineIdentity,
    Observation,
    TraceRecord,
)
from trlm_lab.base.safetensors_header import TensorInfo
from trlm_lab.errors import (
    ObservationError,
    ProcessOutputError,
    ProcessReportError,
    TraceMissingError,
    TrlmError,
)
from trlm_lab.traces.intake import in_trace_order, trace_record
from trlm_lab.traces.places import place_of, trace_order
from trlm_lab.traces.tensor_file import read_tensor, read_tensors, write_tensors

REPORT_SCHEMA = "trlm.process.report.v1"
REPORT = "report.json"
SUFFIX = ".safetensors"


class SafetensorsTrace:
    """A `TraceView` over `report.json` and one `<case_id>.safetensors` a case.

    The directories of all files are checked on opening. Shapes against a model are not judged
    here, and the values are read when asked for.
    """

    def __init__(
        self,
        path: Path,
        identity: EngineIdentity | None = None,
        subject: dict[str, Any] | None = None,
    ) -> None:
        """Open an output directory; without `identity` the report says who computed.

        Without `subject` the report of `trlm exec` says which snapshot was run.

        Raises:
            ProcessReportError: the report is missing or malformed.
            ProcessOutputError: a tensor file is malformed.
        """
        self.path = path
        self.report = _read_report(path / REPORT)
        self.identity = identity or _identity(path / REPORT, self.report)
        self.subject = _subject(self.report) if subject is None else dict(subject)
        self._cases = {file.stem: _entries(file) for file in sorted(path.glob(f"*{SUFFIX}"))}

    @property
    def not_supported(self) -> tuple[str, ...]:
        """Cases that the process declared it cannot run."""
        return tuple(self.report.get("not_supported", ()))

    def _entries(self, case_id: str) -> dict[str, TensorInfo]:
        if case_id not in self._cases:
            raise TraceMissingError(where=str(self.path), kind="case", name=case_id)
        return self._cases[case_id]

    def case_ids(self) -> tuple[str, ...]:
        """Cases with a file, sorted by id."""
        return tuple(self._cases)

    def names(self, case_id: str) -> tuple[str, ...]:
        """Names of the tensors, checkpoints in ladder order. Raises TraceMissingError."""
        return tuple(sorted(self._entries(case_id), key=trace_order))

    def read(self, case_id: str, name: str) -> NDArray[Any]:
        """One array. Raises TraceMissingError."""
        entries = self._entries(case_id)
        path = self.path / f"{case_id}{SUFFIX}"
        if name not in entries:
            raise TraceMissingError(where=str(path), kind="array", name=name)
        return read_tensor(path, entries[name])

    def case_trace(self, case_id: str) -> CaseTrace:
        """Digests of a case; its input is known by its token ids, where the file holds them."""
        found = [Observation(name, self.read(case_id, name)) for name in self.names(case_id)]
        digests = in_trace_order(ArrayDigest.of(observation) for observation in found)
        ids = next((d.sha256 for d in digests if d.name == "token_ids"), "")
        return CaseTrace(case_id, canon.content_id([case_id, ids]), digests)

    @cached_property
    def _record(self) -> TraceRecord:
        traces = (self.case_trace(case_id) for case_id in self.case_ids())
        return trace_record(self.identity, self.subject, traces)

    def record(self) -> TraceRecord:
        """Digests and identity of the whole run; reads every file once."""
        return self._record

    @property
    def trace_id(self) -> str:
        """Content id of the run."""
        return self._record.trace_id


def _report_error(path: Path, detail: str) -> ProcessReportError:
    return ProcessReportError(where=str(path), detail=detail, stderr="")


def _read_report(path: Path) -> dict[str, Any]:
    if not path.is_file():
        raise _report_error(path, "the process wrote no report")
    try:
        report = strict_json.load_file(path)
    except TrlmError as error:
        raise _report_error(path, error.detail) from error
    if not isinstance(report, dict) or report.get("schema") != REPORT_SCHEMA:
        raise _report_error(path, f"the schema is not {REPORT_SCHEMA}")
    for field in ("engine", "version", "profile"):
        if not isinstance(report.get(field), str):
            raise _report_error(path, f"{field} is missing or no text")
    cases = report.get("not_supported", [])
    if not isinstance(cases, list) or not all(isinstance(case, str) for case in cases):
        raise _report_error(path, "not_supported is no list of case ids")
    return report


def _subject(report: dict[str, Any]) -> dict[str, Any]:
    """Snapshot and configuration, where the report names them; other runtimes know of neither."""
    inputs = report.get("inputs")
    stated = inputs if isinstance(inputs, dict) else {}
    return {
        name: stated[name]
        for name in ("config", "snapshot")
        if isinstance(stated.get(name), str) and stated[name]
    }


def _identity(path: Path, report: dict[str, Any]) -> EngineIdentity:
    name, version, profile = report["engine"], report["version"], report["profile"]
    return EngineIdentity(name, version, profile, file_sha256(path))


def _entries(path: Path) -> dict[str, TensorInfo]:
    entries = read_tensors(path)
    for name in entries:
        try:
            place_of(name)
        except ObservationError as error:
            detail = f"the tensor {name!r} has no name of a trace"
            raise ProcessOutputError(where=str(path), detail=detail) from error
    return entries


def write_process_report(
    directory: Path,
    identity: EngineIdentity,
    not_supported: Iterable[str] = (),
    inputs: Mapping[str, str] | None = None,
) -> None:
    """Write `report.json` for an engine of this package; `inputs` are ids of what it was given."""
    report: dict[str, Any] = {
        "schema": REPORT_SCHEMA,
        "engine": identity.name,
        "version": identity.version,
        "profile": identity.profile,
    }
    if "probe" in identity.details:
        report["probe"] = identity.details["probe"]
    refused = list(not_supported)
    if refused:
        report["not_supported"] = refused
    if inputs:
        report["inputs"] = dict(inputs)
    directory.mkdir(parents=True, exist_ok=True)
    write_atomically(directory / REPORT, json.dumps(report, indent=1).encode() + b"\n")


def write_process_case(directory: Path, case_id: str, observations: Iterable[Observation]) -> Path:
    """Write `<case_id>.safetensors`; the observations of the case are held in memory."""
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / f"{case_id}{SUFFIX}"
    write_tensors(path, observations)
    return path
