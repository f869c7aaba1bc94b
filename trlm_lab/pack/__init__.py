"""Stage: snapshot to `.slm` artifact with its ledger, and back to float32 safetensors."""

from trlm_lab.pack.derived import derive_model_dir
from trlm_lab.pack.pack import pack_snapshot
from trlm_lab.pack.profiles import PROFILES, quant_profile, quant_profile_id
from trlm_lab.pack.unpack import unpack

__all__ = [
    "PROFILES",
    "derive_model_dir",
    "pack_snapshot",
    "quant_profile",
    "quant_profile_id",
    "unpack",
]
