"""Resolution files: a person settles one named conflict, and everything downstream says so.

`{"schema": "trlm.resolution.v1", "conflict_id", "code", "field", "kind", "value", "reviewer"}` and,
by kind, for `publisher_resolution` the `source` `{"address", "quote", "sha256"}` (where the
publisher says it, in what words, and the hash of the document that holds them), for
`normative_choice` the `deviation`, a sentence. The conflict id covers every declaration of the
field, so a changed declaration is a new conflict, which an old file does not settle.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trlm_lab.base.reviewed_file import ReviewedFile
from trlm_lab.base.reviewed_rows import is_said
from trlm_lab.errors import ResolutionFileError

SCHEMA = "trlm.resolution.v1"
PUBLISHER, NORMATIVE = "publisher_resolution", "normative_choice"

_TEXTS = ("conflict_id", "code", "field", "kind", "reviewer")
_BY_KIND = {PUBLISHER: "source", NORMATIVE: "deviation"}
_SOURCE = {"address", "quote", "sha256"}
_HEX = set("0123456789abcdef")


@dataclass(frozen=True)
class Resolution:
    """One reviewed decision; `file_sha256` is the hash of the file that states it."""

    conflict_id: str
    code: str
    field: str
    kind: str
    value: Any
    reviewer: str
    file_sha256: str
    source: dict[str, str] = dataclasses.field(default_factory=dict)
    deviation: str = ""

    @property
    def statement(self) -> str:
        """The sentence that every receipt and report shows."""
        if self.kind == NORMATIVE:
            return f"{self.field} = {self.value!r} by our choice: {self.deviation}"
        quoted, address = self.source["quote"], self.source["address"]
        return f"{self.field} = {self.value!r} by the publisher's word: “{quoted}” ({address})"

    def to_map(self) -> dict[str, Any]:
        """Canonical map."""
        return {**vars(self), "source": dict(self.source), "statement": self.statement}


def load_resolution(path: Path) -> Resolution:
    """Read and check one resolution file.

    Raises:
        ResolutionFileError: it cannot be read, is no strict JSON, or breaks the schema.
    """
    return parse_resolution(ReviewedFile.read(path, ResolutionFileError))


def parse_resolution(file: ReviewedFile) -> Resolution:
    """The resolution of a file that was read. Raises ResolutionFileError."""

    def refuse(detail: str, pointer: str = "") -> ResolutionFileError:
        return ResolutionFileError(where=f"{file.path}#{pointer}", detail=detail)

    row = file.document(ResolutionFileError)
    if not isinstance(row, dict) or row.get("schema") != SCHEMA:
        raise refuse(f"the document is no object of schema {SCHEMA!r}")
    for name in _TEXTS:
        if not isinstance(row.get(name), str) or not row[name].strip():
            raise refuse(f"{name} is {row.get(name)!r}, a text is wanted", f"/{name}")
    if not is_said(row["reviewer"]):
        raise refuse("reviewer holds no letter and no digit", "/reviewer")
    special = _BY_KIND.get(row["kind"])
    if special is None:
        raise refuse(f"kind is {row['kind']!r}; known: {', '.join(_BY_KIND)}", "/kind")
    wanted = {"schema", *_TEXTS, "value", special}
    for name in sorted(wanted ^ set(row)):
        state = "is missing" if name in wanted else "is unknown, or belongs to the other kind"
        raise refuse(f"{name} {state}", f"/{name}")
    if not _is_sha256(row["conflict_id"]):
        raise refuse("conflict_id is no SHA-256 in hexadecimal", "/conflict_id")
    detail = _special_problem(special, row[special])
    if detail:
        raise refuse(detail, f"/{special}")
    facts = {name: row[name] for name in (*_TEXTS, "value", special)}
    return Resolution(**facts, file_sha256=file.sha256)


def _is_sha256(value: Any) -> bool:
    return isinstance(value, str) and len(value) == 64 and set(value) <= _HEX


def _special_problem(name: str, value: Any) -> str:
    if name == "deviation":
        sound = isinstance(value, str) and sum(map(is_said, value.split())) >= 3
        return "" if sound else "deviation is no sentence that says what differs and why"
    if not isinstance(value, dict) or set(value) != _SOURCE:
        return f"source has exactly the keys {', '.join(sorted(_SOURCE))}"
    if not all(map(is_said, value.values())):
        return "address, quote and sha256 are texts that hold a letter or a digit"
    return "" if _is_sha256(value["sha256"]) else "sha256 is no SHA-256 in hexadecimal"
