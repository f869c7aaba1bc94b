"""The two JSON documents of `trlm-process-v1`: the request we write, the report we read."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from trlm_lab.backends.process_files import read_object
from trlm_lab.base.interfaces import Subject
from trlm_lab.base.records import Case
from trlm_lab.errors import ProcessReportError

REQUEST_SCHEMA = "trlm.process.request.v1"
REPORT_SCHEMA = "trlm.process.report.v1"
TEXT_LENGTH = 4096


def request_map(
    subject: Subject, cases: Sequence[Case], checkpoints: Sequence[str], decode_steps: int
) -> dict[str, Any]:
    """The request document; paths are absolute, absent fields of a case are left out."""
    return {
        "schema": REQUEST_SCHEMA,
        "model_dir": None if subject.model_dir is None else str(subject.model_dir.resolve()),
        "artifact": None if subject.artifact is None else str(subject.artifact.resolve()),
        "cases": [_case_map(case) for case in cases],
        "checkpoints": list(checkpoints),
        "decode_steps": decode_steps,
    }


def _case_map(case: Case) -> dict[str, Any]:
    # The text is not the runtime's business: it is given the ids.
    return {key: value for key, value in case.to_map().items() if key != "text"}


def write_request(path: Path, request: dict[str, Any]) -> None:
    """Write the request as JSON in UTF-8."""
    path.write_text(json.dumps(request, indent=1) + "\n", encoding="utf-8")


@dataclass(frozen=True)
class Report:
    """What the runtime says of itself; `not_supported` maps case ids to reasons."""

    engine: str
    version: str
    profile: str
    not_supported: dict[str, str] = field(default_factory=dict)


def read_report(path: Path, cases: Sequence[Case], stderr: str) -> Report:
    """Read and check `report.json`; fields beyond the schema are ignored.

    `not_supported` may be a list of case ids, a list of maps with `case_id` and `reason`, or a map
    from case id to reason.

    Raises:
        ProcessReportError: missing, malformed, of another schema, or naming unknown cases.
    """

    def refusal(detail: str) -> ProcessReportError:
        return ProcessReportError(where="report.json", detail=detail + stderr)

    row = read_object(path, refusal)
    if row.get("schema") != REPORT_SCHEMA:
        raise refusal(f"schema is {_short(row.get('schema'))}, not {REPORT_SCHEMA!r}")
    for name in ("engine", "version", "profile"):
        if not isinstance(row.get(name), str) or len(row[name]) > TEXT_LENGTH:
            raise refusal(f"{name} is {_short(row.get(name))}, no text")
    reasons = _reasons(row.get("not_supported", []))
    if reasons is None:
        raise refusal(f"not_supported is {_short(row['not_supported'])}, no list of case ids")
    unknown = sorted(set(reasons) - {case.case_id for case in cases})
    if unknown:
        raise refusal(f"not_supported names {_short(unknown[0])}, no case of the request")
    return Report(row["engine"], row["version"], row["profile"], reasons)


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else text[:77] + "..."


def _reasons(value: Any) -> dict[str, str] | None:
    pairs = list(value.items()) if isinstance(value, dict) else value
    if not isinstance(pairs, list):
        return None
    found = [_reason(pair) for pair in pairs]
    return None if None in found else dict(pair for pair in found if pair is not None)


def _reason(entry: Any) -> tuple[str, str] | None:
    if isinstance(entry, str):
        return entry, "no reason given"
    if isinstance(entry, dict):
        entry = (entry.get("case_id"), entry.get("reason", "no reason given"))
    if isinstance(entry, tuple) and len(entry) == 2 and all(isinstance(e, str) for e in entry):
        return entry
    return None
