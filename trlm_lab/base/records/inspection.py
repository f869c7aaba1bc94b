"""What the independent inspector found in a container: rows to show, hashes, findings."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from trlm_lab.base import canon
from trlm_lab.base.records.checks import require_sha256


@dataclass(frozen=True)
class Finding:
    """One broken rule: a stable code, the place (byte offset or tensor), what is there, the fix."""

    code: str
    where: str
    detail: str
    fix: str = ""

    def __str__(self) -> str:
        return f"{self.code} at {self.where}: {self.detail}"


@dataclass(frozen=True)
class InspectedField:
    """One header field: name, byte offset, size in bytes, value (integer, float, text or hex)."""

    name: str
    offset: int
    size: int
    value: int | float | str


@dataclass(frozen=True)
class InspectedTensor:
    """One directory row; numbers appear by name where the format has one, ranges in bytes."""

    index: int
    name: str
    role: str
    dtype: str
    layout: str
    scale_encoding: str
    flags: int
    dims: tuple[int, ...]
    data_range: tuple[int, int]
    scales_range: tuple[int, int]
    row_stride: int
    alias_of: str | None
    first_piece: int
    piece_count: int


@dataclass(frozen=True)
class InspectedPiece:
    """One row of the piece table; lengths in bytes."""

    index: int
    shard: int
    file_off: int
    stored_len: int
    logical_len: int
    sha256: str


@dataclass(frozen=True)
class HashCheck:
    """A hash that the file stores beside the one that its bytes have, both as hex."""

    name: str
    stored: str
    computed: str

    @property
    def holds(self) -> bool:
        """Whether both are equal."""
        return self.stored == self.computed


@dataclass(frozen=True)
class Inspection:
    """Everything read from one file; a sound file has no findings and every hash holds."""

    format: str
    size: int
    #: None of a file that was refused before it was read whole.
    file_sha256: str | None
    header: tuple[InspectedField, ...] = ()
    tokenizer: tuple[InspectedField, ...] = ()
    config: dict[str, Any] = field(default_factory=dict)
    tensors: tuple[InspectedTensor, ...] = ()
    pieces: tuple[InspectedPiece, ...] = ()
    hashes: tuple[HashCheck, ...] = ()
    findings: tuple[Finding, ...] = ()

    def __post_init__(self) -> None:
        if self.file_sha256 is not None or not self.findings:
            require_sha256(self.file_sha256, "Inspection.file_sha256")

    def to_map(self) -> dict[str, Any]:
        """Canonical map; carries no path."""
        return {
            "schema": "trlm.inspection.v1",
            "format": self.format,
            "size": self.size,
            "file_sha256": self.file_sha256,
            "header": [[f.name, f.offset, f.size, f.value] for f in self.header],
            "tokenizer": [[f.name, f.offset, f.size, f.value] for f in self.tokenizer],
            "config": dict(self.config),
            "tensors": [_row(t) for t in self.tensors],
            "pieces": [_row(p) for p in self.pieces],
            "hashes": [[h.name, h.stored, h.computed] for h in self.hashes],
            "findings": [[f.code, f.where, f.detail] for f in self.findings],
        }

    @property
    def inspection_id(self) -> str:
        """Content id."""
        return canon.content_id(self.to_map())


def _row(record: Any) -> dict[str, Any]:
    return {k: list(v) if isinstance(v, tuple) else v for k, v in vars(record).items()}
