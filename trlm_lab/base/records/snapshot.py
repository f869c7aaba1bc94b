"""Source identity: what was asked for (Pin) and what was received (Snapshot)."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from trlm_lab.base import canon
from trlm_lab.base.records.checks import require, require_sha256


@dataclass(frozen=True)
class Pin:
    """A source as the user names it: scheme (`py`, `gguf`, `dir`, `synthetic`) and locator."""

    scheme: str
    locator: str
    expected_sha256: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        require(bool(self.scheme and self.locator), "Pin", "scheme and locator are both needed")

    @property
    def spelled(self) -> str:
        """`scheme:locator`."""
        return f"{self.scheme}:{self.locator}"


@dataclass(frozen=True)
class SourceFile:
    """One file of a snapshot: path as bytes (identity), size in bytes, SHA-256."""

    path: bytes
    size: int
    sha256: str

    def __post_init__(self) -> None:
        require_sha256(self.sha256, "SourceFile.sha256")
        require(self.size >= 0, "SourceFile.size", f"negative size {self.size}")

    @property
    def display(self) -> str:
        """The path, escaped for people; never part of an identity."""
        return self.path.decode("utf-8", "backslashreplace")


@dataclass(frozen=True)
class Snapshot:
    """An immutable source tree on disk, in Hugging Face layout.

    `root` holds `config.json`, `model.safetensors` (float32) and whatever else the source gave;
    `files` lists them sorted by path; `provenance` tells where the bytes came from and every
    conversion on the way (deterministic: no times, hosts or absolute paths).
    """

    pin: Pin
    root: Path
    files: tuple[SourceFile, ...]
    provenance: dict[str, Any]

    def __post_init__(self) -> None:
        paths = [f.path for f in self.files]
        require(paths == sorted(set(paths)), "Snapshot.files", "paths not sorted or not unique")

    @property
    def snapshot_id(self) -> str:
        """SHA-256 over the sorted (path, size, sha256) rows."""
        return canon.content_id([[f.path, f.size, f.sha256] for f in self.files])

    def file(self, name: str) -> SourceFile | None:
        """The row of a file, or None."""
        return next((f for f in self.files if f.path == name.encode()), None)
