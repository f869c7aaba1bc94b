"""Floor 2: what a snapshot declares, whether it agrees with itself, and what is run."""

from trlm_lab.describe.classification import classification
from trlm_lab.describe.configuration import (
    Description,
    class_contradictions,
    describe,
    effective_config,
)
from trlm_lab.describe.conflicts import compare_declarations, detect_conflicts
from trlm_lab.describe.directory_check import check_model_directory, require_consistent
from trlm_lab.describe.ledger_plan import ExpectedTensor, check_tensors
from trlm_lab.describe.receipt import (
    ConflictFinding,
    ConflictReceipt,
    Declaration,
    Evidence,
    evidence_table,
)
from trlm_lab.describe.resolution import Resolution, load_resolution, parse_resolution
from trlm_lab.describe.templates import (
    DeclaredTemplate,
    only_template,
    template_at,
    templates_of_directory,
    templates_of_file,
    templates_of_keys,
)
from trlm_lab.describe.tokenizer_check import check_tokenizer
from trlm_lab.describe.weights import Tensors

__all__ = [
    "ConflictFinding",
    "ConflictReceipt",
    "Declaration",
    "DeclaredTemplate",
    "Description",
    "Evidence",
    "ExpectedTensor",
    "Resolution",
    "Tensors",
    "check_model_directory",
    "check_tensors",
    "check_tokenizer",
    "class_contradictions",
    "classification",
    "compare_declarations",
    "describe",
    "detect_conflicts",
    "effective_config",
    "evidence_table",
    "load_resolution",
    "only_template",
    "parse_resolution",
    "require_consistent",
    "template_at",
    "templates_of_directory",
    "templates_of_file",
    "templates_of_keys",
]
