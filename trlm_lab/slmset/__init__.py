"""Stage: an SLM2 file as a directory of verified pieces, and back; inclusion proofs."""

from trlm_lab.slmset.check import check_set
from trlm_lab.slmset.join import join
from trlm_lab.slmset.manifest import Manifest, PieceRow, ShardRow
from trlm_lab.slmset.proof import prove_piece, prove_rows, verify_proof
from trlm_lab.slmset.split import split

__all__ = [
    "Manifest",
    "PieceRow",
    "ShardRow",
    "check_set",
    "join",
    "prove_piece",
    "prove_rows",
    "split",
    "verify_proof",
]
