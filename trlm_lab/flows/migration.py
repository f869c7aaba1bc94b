"""The ledger of a file that was migrated from SLM1, and its proof."""

from __future__ import annotations

from pathlib import Path

from trlm_lab.base.records import Ledger
from trlm_lab.flows.ledgers import Findings, read_ledger
from trlm_lab.flows.progress import Board
from trlm_lab.pack.slm1 import Migration, prove_migration


def migrated_ledger(artifact: Path, source: Path) -> Ledger:
    """What became of the tensors of an SLM1 file, by the bytes of both. Raises as `Migration`."""
    return Migration.open(artifact, source).ledger()


def verify_migrated(artifact: Path, source: Path, ledger: Path | None, board: Board) -> Findings:
    """Everything that is found about both files, and about the ledger that a file holds.

    Raises:
        LedgerFileError: the file holds none.
        SlmError, Slm1Error: as `Migration.open`.
    """
    said = read_ledger(ledger) if ledger else None
    migration = Migration.open(artifact, source)
    return [one.to_map() for one in prove_migration(migration, said, board.report)]
