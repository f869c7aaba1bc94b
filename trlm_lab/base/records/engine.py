"""Who computed a trace, and whether an engine is here at all."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class EngineIdentity:
    """Engine name (`native-scalar`), version, evaluation profile and hash of the code that ran.

    `details` are further facts that bind (module hash, compiler, thread count); no times, hosts
    or absolute paths.
    """

    name: str
    version: str
    profile: str
    build_sha256: str
    details: dict[str, Any] = field(default_factory=dict)

    def to_map(self) -> dict[str, Any]:
        """Canonical map."""
        return {
            "name": self.name,
            "version": self.version,
            "profile": self.profile,
            "build_sha256": self.build_sha256,
            "details": dict(self.details),
        }


@dataclass(frozen=True)
class Availability:
    """Whether an engine can run here; `fix` is the command that would bring it."""

    available: bool
    version: str = ""
    features: tuple[str, ...] = ()
    reason: str = ""
    fix: str = ""
