"""SLM1 files: written from a supported model, opened, unpacked, migrated to SLM2."""

from trlm_lab.pack.slm1.files import open_checked, open_slm1_file
from trlm_lab.pack.slm1.ledger import slm1_ledger, verify_slm1_ledger
from trlm_lab.pack.slm1.migrate import Migrated, migrate
from trlm_lab.pack.slm1.migration_proof import Migration, prove_migration
from trlm_lab.pack.slm1.profiles import slm1_profile, slm1_profile_id
from trlm_lab.pack.slm1.tokenizer import slm1_section
from trlm_lab.pack.slm1.unpack import unpack_slm1
from trlm_lab.pack.slm1.write import Slm1Artifact, pack_slm1

__all__ = [
    "Migrated",
    "Migration",
    "Slm1Artifact",
    "migrate",
    "open_checked",
    "open_slm1_file",
    "pack_slm1",
    "prove_migration",
    "slm1_ledger",
    "slm1_profile",
    "slm1_profile_id",
    "slm1_section",
    "unpack_slm1",
    "verify_slm1_ledger",
]
