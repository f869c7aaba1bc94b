"""The ledger of a source, of an artifact beside its source, and the proof of either."""

from __future__ import annotations

import tempfile
from pathlib import Path

from trlm_lab.base import strict_json
from trlm_lab.base.records import EffectiveConfig, Ledger
from trlm_lab.describe import class_contradictions
from trlm_lab.errors import LedgerFileError
from trlm_lab.flows.acquisition import admit_source
from trlm_lab.flows.packing import Packed, pack_artifact
from trlm_lab.flows.progress import Board
from trlm_lab.flows.reviewed_files import NOTHING, Reviewed
from trlm_lab.flows.reviewed_source import reviewed_workspace
from trlm_lab.pack import derive_ledger, prove_ledger
from trlm_lab.pack.artifact_file import map_file
from trlm_lab.pack.codes import Codes, open_codes
from trlm_lab.slm.read import open_slm

Findings = list[dict[str, str]]


def ledger_of(snapshot: str, quant: str, board: Board, reviewed: Reviewed = NOTHING) -> Packed:
    """Pack (or find packed) a source and return artifact and ledger."""
    return packed_source(snapshot, quant, board, reviewed)[1]


def ledger_of_files(
    artifact: Path, source: Path, board: Board, codes: Path | None = None
) -> Ledger:
    """What became of the tensors of a model directory in an artifact, by the bytes of both.

    Of a calibrated profile `codes` are those that it was packed from.
    """
    return derive_ledger(artifact, source, board.report, open_codes(codes) if codes else None)


def packed_source(
    snapshot: str, quant: str, board: Board, reviewed: Reviewed = NOTHING
) -> tuple[Path, Packed]:
    """Pack (or find packed) a source: its snapshot directory, and artifact with ledger."""
    with tempfile.TemporaryDirectory() as scratch:
        ws = reviewed_workspace(Path(scratch), board, reviewed)
        source, described = admit_source(ws, snapshot)
        return source.root, pack_artifact(ws, source, described, quant)


def verify_ledger(
    snapshot: str, quant: str, board: Board, reviewed: Reviewed = NOTHING
) -> Findings:
    """Prove the packed ledger of a source."""
    root, packed = packed_source(snapshot, quant, board, reviewed)
    return proved(packed.artifact.path, root, packed.ledger, board)


def verify_files(
    artifact: Path, source: Path, ledger: Path | None, board: Board, codes: Path | None = None
) -> Findings:
    """Prove an artifact against a model directory, and the ledger that a file holds.

    Raises:
        LedgerFileError: the file holds none.
        CodesFileError, CodesMismatchError: no codes, or those of another source.
    """
    said = read_ledger(ledger) if ledger else None
    return proved(artifact, source, said, board, open_codes(codes) if codes else None)


def proved(
    artifact: Path, root: Path, ledger: Ledger | None, board: Board, codes: Codes | None = None
) -> Findings:
    """Everything that is found about an artifact, its source, and a ledger that is given."""
    _, found = prove_ledger(artifact, root, ledger, board.report, codes)
    return [*(one.to_map() for one in found), *_class_findings(artifact)]


def _class_findings(artifact: Path) -> Findings:
    """What the artifact's configuration says otherwise than the class of its family does.

    A rotary order of another kind stands here: no step permutes queries and keys.
    """
    config = EffectiveConfig.from_map(open_slm(map_file(artifact), where=artifact.name).config)
    return [
        {
            "code": "LEDGER_ROTARY" if error.facts["field"] == "rope_order" else "LEDGER_CONFIG",
            "where": str(error.facts["field"]),
            "detail": f"the artifact says {error.facts['declared']!r}, "
            f"the class of the family has {error.facts['source']!r}",
        }
        for error in class_contradictions(config)
    ]


def read_ledger(path: Path) -> Ledger:
    """The ledger in a JSON file, as `trlm ledger show --json` writes it.

    Raises:
        LedgerFileError: it holds none.
    """
    try:
        return Ledger.from_map(strict_json.load_object(path, where=path.name))
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise LedgerFileError(where=path.name, detail=f"{type(error).__name__}: {error}") from error
