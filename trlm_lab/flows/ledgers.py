"""The ledger of a source, and its check against the bytes on both sides."""

from __future__ import annotations

import tempfile
from pathlib import Path

from trlm_lab.flows.acquisition import admit_source
from trlm_lab.flows.ledger_check import check_ranges
from trlm_lab.flows.packing import Packed, pack_artifact
from trlm_lab.flows.progress import Board
from trlm_lab.flows.reviewed_files import NOTHING, Reviewed
from trlm_lab.flows.reviewed_source import reviewed_workspace


def ledger_of(snapshot: str, quant: str, board: Board, reviewed: Reviewed = NOTHING) -> Packed:
    """Pack (or find packed) a source and return artifact and ledger."""
    return _packed(snapshot, quant, board, reviewed)[1]


def _packed(snapshot: str, quant: str, board: Board, reviewed: Reviewed) -> tuple[Path, Packed]:
    with tempfile.TemporaryDirectory() as scratch:
        ws = reviewed_workspace(Path(scratch), board, reviewed)
        source, described = admit_source(ws, snapshot)
        return source.root, pack_artifact(ws, source, described, quant)


def verify_ledger(
    snapshot: str, quant: str, board: Board, reviewed: Reviewed = NOTHING
) -> list[dict[str, str]]:
    """Recompute both hashes of every entry from the files; findings are returned."""
    root, packed = _packed(snapshot, quant, board, reviewed)
    return check_ranges(packed.ledger, root, packed.artifact.path, board.report)
