"""A ledger against both files: its own rules, what it says, and the bytes that follow from it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path

from trlm_lab.base.records import EffectiveConfig, Ledger, LedgerEntry
from trlm_lab.pack.artifact_file import map_file
from trlm_lab.pack.codes import Codes
from trlm_lab.pack.ledger_rules import LedgerFinding, rule_findings
from trlm_lab.pack.lineage import ledger_of
from trlm_lab.pack.progress import Progress, silent
from trlm_lab.pack.rederive import rederive
from trlm_lab.pack.shards import stored_tensors
from trlm_lab.pack.source import open_sources
from trlm_lab.slm.read import open_slm
from trlm_lab.slm.verify import verify_all

#: Code of an entry whose field is not what the files say, by field.
_CODES = {
    "source_sha256": "LEDGER_SOURCE",
    "destination_sha256": "LEDGER_DESTINATION",
    "transforms": "LEDGER_STEPS",
    "probes": "LEDGER_PROBE",
}


def prove_ledger(
    artifact: Path,
    root: Path,
    ledger: Ledger | None = None,
    progress: Progress = silent,
    codes: Codes | None = None,
) -> tuple[Ledger, list[LedgerFinding]]:
    """The ledger that the two files give, and every finding about it and about `ledger`.

    Of an artifact of a calibrated profile `codes` are those that it was packed from: their bytes
    must be the artifact's, and the source's weights those that they were made of.

    Raises:
        CodesMismatchError: codes of another source.
        SlmError: the artifact is malformed or damaged.
        PackUnknownTensorError and its neighbours: the source is not that of the configuration.
    """
    slm = open_slm(map_file(artifact), where=artifact.name)
    verify_all(slm)
    config = EffectiveConfig.from_map(slm.config)
    sources = open_sources(root, config)
    if codes is not None:
        codes.check(sources)
    derived = ledger_of(slm, sources, config, progress, codes)
    names = [tensor.name for tensor in slm.tensors]
    found = rule_findings(ledger or derived, stored_tensors(root).keys(), names)
    if ledger is not None:
        found += ledger_differences(ledger, derived)
    found += rederive(slm, sources, derived, progress, codes)
    return derived, found


def ledger_differences(ledger: Ledger, derived: Ledger) -> Iterator[LedgerFinding]:
    """Where a ledger says another thing than the files; rules about names are checked elsewhere."""
    right = {entry.destination_name: entry for entry in derived.entries}
    for entry in ledger.entries:
        if entry.destination_name in right:
            yield from _entry_differences(entry, right[entry.destination_name])
    for name in ("exceptions", "omissions"):
        if getattr(ledger, name) != getattr(derived, name):
            detail = "are others than the files give"
            yield LedgerFinding("LEDGER_EXCEPTION", name, detail)


def _entry_differences(entry: LedgerEntry, right: LedgerEntry) -> Iterator[LedgerFinding]:
    for field in fields(LedgerEntry):
        said, found = getattr(entry, field.name), getattr(right, field.name)
        if said != found:
            detail = f"{field.name}: {_short(said)}, the files give {_short(found)}"
            code = _CODES.get(field.name, "LEDGER_FIELD")
            yield LedgerFinding(code, entry.destination_name, detail)


def _short(value: object) -> str:
    text = str(value)
    return text if len(text) <= 120 else f"{text[:117]}..."
