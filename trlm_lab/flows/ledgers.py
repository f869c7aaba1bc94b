"""The ledger of a source, and its check against the bytes on both sides."""

from __future__ import annotations

import tempfile
from pathlib import Path

from trlm_lab.flows.acquisition import acquire_source, describe_source
from trlm_lab.flows.ledger_check import check_ranges
from trlm_lab.flows.packing import Packed, pack_artifact
from trlm_lab.flows.progress import Board
from trlm_lab.flows.workspace import Workspace


def ledger_of(snapshot: str, quant: str, board: Board) -> Packed:
    """Pack (or find packed) a source and return artifact and ledger."""
    return _packed(snapshot, quant, board)[1]


def _packed(snapshot: str, quant: str, board: Board) -> tuple[Path, Packed]:
    with tempfile.TemporaryDirectory() as scratch:
        ws = Workspace(Path(scratch), board)
        source = acquire_source(ws, snapshot)
        return source.root, pack_artifact(ws, source, describe_source(ws, source), quant)


def verify_ledger(snapshot: str, quant: str, board: Board) -> list[dict[str, str]]:
    """Recompute both hashes of every entry from the files; findings are returned."""
    root, packed = _packed(snapshot, quant, board)
    return check_ranges(packed.ledger, root, packed.artifact.path, board.report)
