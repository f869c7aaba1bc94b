"""Limits of one acquisition from a Hub, each checked before or while bytes arrive."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class HubLimits:
    """Counts, sizes in bytes, times in seconds.

    The sizes hold two shards of any model that this project runs; the least rate ends a server
    that sends a byte now and then.
    """

    files: int = 4096
    file_bytes: int = 64 << 30
    total_bytes: int = 256 << 30
    depth: int = 4
    redirects: int = 5
    answers: int = 1024
    answer_bytes: int = 64 << 20
    seconds: float = 6 * 3600.0
    silence_seconds: float = 30.0
    least_rate: float = 16 * 1024.0
    grace_seconds: float = 60.0
    attempts: int = 5
    pause_seconds: float = 1.0

    def file_seconds(self, size: int) -> float:
        """The longest time that one file may take."""
        return self.grace_seconds + size / self.least_rate
