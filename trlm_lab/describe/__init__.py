"""Floor 2: what a snapshot declares, whether it agrees with itself, and what is run."""

from trlm_lab.describe.configuration import Description, describe, effective_config
from trlm_lab.describe.conflicts import detect_conflicts
from trlm_lab.describe.directory_check import check_model_directory
from trlm_lab.describe.ledger_plan import ExpectedTensor, check_tensors
from trlm_lab.describe.receipt import ConflictFinding, ConflictReceipt, Evidence

__all__ = [
    "ConflictFinding",
    "ConflictReceipt",
    "Description",
    "Evidence",
    "ExpectedTensor",
    "check_model_directory",
    "check_tensors",
    "describe",
    "detect_conflicts",
    "effective_config",
]
