"""The document of `trlm describe`: evidence and conflicts, and what is run if none stops."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from trlm_lab.describe import ConflictReceipt, classification, evidence_table
from trlm_lab.errors import ConflictError
from trlm_lab.flows.acquisition import admit_source
from trlm_lab.flows.progress import Board
from trlm_lab.flows.reviewed_files import NOTHING, Reviewed
from trlm_lab.flows.reviewed_source import reviewed_workspace


def described_document(source: str, reviewed: Reviewed = NOTHING) -> dict[str, Any]:
    """`conflicts` (the receipt), `evidence` (its table), `config`, `origins`, `framework`,
    `classification` (every key of `config.json`, its kind and why), and `licence` (the row of the
    snapshot's provenance).

    A conflict is no error here: `config` is None then. Other faults raise as `acquire` does.
    """
    try:
        with tempfile.TemporaryDirectory() as scratch, Board() as board:
            ws = reviewed_workspace(Path(scratch), board, reviewed)
            acquired, described = admit_source(ws, source)
    except ConflictError as error:
        receipt = error.facts.get("receipt")
        if not isinstance(receipt, ConflictReceipt):
            raise
        return {
            **_shown(receipt.to_map()),
            "config": None,
            "origins": {},
            "framework": "",
            "classification": None,
            "licence": None,
        }
    return {
        **_shown(described.receipt),
        "config": described.config.to_map(),
        "origins": {d.name: d.origin for d in described.defaults.values},
        "framework": described.defaults.framework,
        "classification": classification(acquired.root),
        "licence": acquired.snapshot.provenance.get("licence"),
    }


def _shown(receipt: dict[str, Any]) -> dict[str, Any]:
    return {"conflicts": receipt, "evidence": evidence_table(receipt)}
