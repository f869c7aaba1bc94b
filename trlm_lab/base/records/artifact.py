"""A packed `.slm` file."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from trlm_lab.base.records.checks import require_sha256
from trlm_lab.base.records.config import EffectiveConfig


@dataclass(frozen=True)
class Artifact:
    """A `.slm` on disk: SHA-256 of the file (its identity), its own self hash, Merkle root."""

    path: Path
    format: str
    quant_profile: str
    file_sha256: str
    self_sha256: str
    merkle_root: str
    size: int
    config: EffectiveConfig

    def __post_init__(self) -> None:
        for name in ("file_sha256", "self_sha256", "merkle_root"):
            require_sha256(getattr(self, name), f"Artifact.{name}")
