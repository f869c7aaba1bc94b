"""The ledger against the bytes on both sides."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path

from trlm_lab.base.records import Ledger, LedgerEntry


def check_ranges(
    ledger: Ledger,
    root: Path,
    artifact: Path,
    progress: Callable[[str, int, int], None] | None = None,
) -> list[dict[str, str]]:
    """Source and destination bytes of every entry against the ledger's hashes."""
    findings = []
    entries = len(ledger.entries)
    for done, entry in enumerate(ledger.entries):
        sides = (
            ("LEDGER_SOURCE", root / entry.source_file, [entry.source_range], entry.source_sha256),
            ("LEDGER_DESTINATION", artifact, destination_ranges(entry), entry.destination_sha256),
        )
        for code, path, ranges, expected in sides:
            got = _ranges_sha256(path, ranges)
            if got != expected:
                detail = f"bytes {ranges} hash to {got[:16]}…, the ledger says {expected[:16]}…"
                findings.append({"code": code, "where": entry.destination_name, "detail": detail})
        if progress is not None:
            progress("verify ledger", done + 1, entries)
    return findings


def destination_ranges(entry: LedgerEntry) -> list[tuple[int, int]]:
    """Where the payload lies: codes and scales are hashed without the padding between them."""
    for step in entry.transforms:
        if "data_range" in step.parameters:
            return [tuple(step.parameters["data_range"]), tuple(step.parameters["scales_range"])]
    return [entry.destination_range]


def _ranges_sha256(path: Path, ranges: list[tuple[int, int]]) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as stream:
        for begin, end in ranges:
            stream.seek(begin)
            left = end - begin
            while left > 0 and (chunk := stream.read(min(left, 1 << 20))):
                digest.update(chunk)
                left -= len(chunk)
    return digest.hexdigest()
