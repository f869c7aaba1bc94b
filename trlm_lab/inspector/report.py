"""The buffer under inspection and the findings gathered so far."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from trlm_lab.base.records.inspection import Finding, HashCheck
from trlm_lab.inspector.fixes import FIXES, PACK_AGAIN

SCAN = 1 << 20


@dataclass
class Report:
    """Bytes, findings and hash checks of one file; every reader of the inspector adds to it."""

    view: memoryview
    findings: list[Finding] = field(default_factory=list)
    hashes: list[HashCheck] = field(default_factory=list)

    def add(self, code: str, where: str | int, detail: str) -> None:
        """Note a broken rule; an integer place is a byte offset."""
        place = f"byte {where}" if isinstance(where, int) else where
        self.findings.append(Finding(code, place, detail, FIXES.get(code, PACK_AGAIN)))

    def hash(self, name: str, stored: bytes, computed: bytes) -> None:
        """Compare a stored hash with the computed one."""
        check = HashCheck(name, stored.hex(), computed.hex())
        self.hashes.append(check)
        if not check.holds:
            self.add("SLM_HASH", name, f"stored {check.stored}, computed {check.computed}")

    def number(self, at: int, size: int) -> int:
        """The little-endian unsigned integer at a byte offset that is known to be in the file."""
        return int.from_bytes(self.view[at : at + size], "little")

    def raw(self, at: int, size: int) -> bytes:
        """Bytes at an offset that is known to be in the file."""
        return bytes(self.view[at : at + size])

    def zeros(self, code: str, start: int, end: int, what: str) -> None:
        """Note the first nonzero byte of a range that must be zero."""
        for low in range(start, end, SCAN):
            part = np.frombuffer(self.view[low : min(low + SCAN, end)], np.uint8)
            hits = np.flatnonzero(part)
            if hits.size:
                at = low + int(hits[0])
                self.add(code, at, f"{what} holds {self.view[at]}, not 0")
                return

    def inside(self, what: str, start: int, length: int, low: int, high: int) -> bool:
        """Whether a range lies within bounds; notes it where not."""
        fits = low <= start and length >= 0 and start + length <= high
        if not fits:
            self.add("SLM_RANGE", what, f"{start}..{start + length} is outside {low}..{high}")
        return fits
