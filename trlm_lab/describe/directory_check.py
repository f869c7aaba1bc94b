"""What `trlm check` says of a model directory, without the source framework."""

from __future__ import annotations

from pathlib import Path

from trlm_lab.base.safetensors_header import read_header
from trlm_lab.describe.conflicts import compare_declarations
from trlm_lab.describe.declarations import Documents, read_documents
from trlm_lab.describe.families import llama
from trlm_lab.describe.ledger_plan import check_tensors
from trlm_lab.describe.receipt import NOTE, ConflictFinding
from trlm_lab.describe.schema import classify
from trlm_lab.errors import TrlmError

_OPTIONAL = ("generation_config.json", "tokenizer.json", "tokenizer_config.json")


def check_model_directory(root: Path) -> list[dict[str, str]]:
    """Conflicts, unknown keys, unsupported values and wrong tensors; missing parts are notes.

    Of a family without a schema only the declarations are compared, which a note says. Each finding
    has `code`, `where`, `detail` and `level` (`error` or `note`).
    """
    try:
        documents = read_documents(root)
        findings = [f.to_map() for f in compare_declarations(documents).findings]
    except TrlmError as error:
        return [_error(error)]
    findings += [_missing(name) for name in _OPTIONAL if name not in documents.present]
    if documents.config.get("model_type") != llama.MODEL_TYPE:
        detail = f"no closed schema for the family {documents.config.get('model_type')!r}"
        unchecked = ConflictFinding("FAMILY_UNSUPPORTED", "config.json", detail, NOTE)
        return [*findings, unchecked.to_map()]
    try:
        # The sizes are only meaningful once the schema has accepted their types.
        _check_schemas(documents)
        findings += _check_weights(documents)
    except TrlmError as error:
        findings.append(_error(error))
    return findings


def _error(error: TrlmError) -> dict[str, str]:
    return {**error.as_finding(), "level": "error"}


def _missing(name: str) -> dict[str, str]:
    return ConflictFinding("MISSING_PART", name, "the file is not there", NOTE).to_map()


def _check_schemas(documents: Documents) -> None:
    classify(documents.config, llama.CONFIG_SCHEMA, "config.json")
    llama.check_relations(documents.config, "config.json")
    classify(documents.generation, llama.GENERATION_SCHEMA, "generation_config.json")


def _check_weights(documents: Documents) -> list[dict[str, str]]:
    path = documents.root / "model.safetensors"
    if not path.is_file():
        return [_missing(path.name)]
    sizes = llama.Sizes.of(documents.config)
    if sizes is None:
        detail = "config.json leaves a size to the source framework; describe the model instead"
        return [ConflictFinding("TENSORS_UNCHECKED", path.name, detail, NOTE).to_map()]
    check_tensors(llama.expected_tensors(sizes), read_header(path), path.name)
    return []
