"""Stage: snapshot to `.slm` artifact with its ledger, and back to float32 safetensors."""

from trlm_lab.pack.derived import derive_model_dir
from trlm_lab.pack.ledger_proof import prove_ledger
from trlm_lab.pack.ledger_rules import LedgerFinding
from trlm_lab.pack.lineage import derive_ledger
from trlm_lab.pack.pack import pack_snapshot
from trlm_lab.pack.profiles import PROFILES, decoder_profile, quant_profile, quant_profile_id
from trlm_lab.pack.unpack import unpack

__all__ = [
    "PROFILES",
    "LedgerFinding",
    "decoder_profile",
    "derive_ledger",
    "derive_model_dir",
    "pack_snapshot",
    "prove_ledger",
    "quant_profile",
    "quant_profile_id",
    "unpack",
]
