"""What the declarations of a model directory say against one another, without the framework.

The same rules stop an acquisition (`require_consistent`) and make the findings of a check.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from trlm_lab.describe.conflicts import compare_declarations
from trlm_lab.describe.declarations import Documents, read_documents
from trlm_lab.describe.families import llama
from trlm_lab.describe.ledger_plan import tensor_problems
from trlm_lab.describe.receipt import NOTE, ConflictFinding, ConflictReceipt
from trlm_lab.describe.resolution import Resolution
from trlm_lab.describe.schema import classify
from trlm_lab.describe.weights import SNAPSHOT_DTYPES, Tensors, own_tensors
from trlm_lab.errors import ConflictError, TrlmError

_OPTIONAL = ("generation_config.json", "tokenizer.json", "tokenizer_config.json")


def check_model_directory(
    root: Path,
    tensors: Tensors | None = None,
    *,
    dtypes: frozenset[str] = SNAPSHOT_DTYPES,
    documents_only: bool = False,
) -> list[dict[str, str]]:
    """Conflicts, unknown keys, unsupported values and wrong tensors; missing parts are notes.

    `tensors` are those of all weight files, where the caller has read them; `documents_only`
    leaves the weights out. Of a family without a schema only the declarations are compared, which a
    note says. Each finding has `code`, `where`, `detail`, `fix` and `level` (`error` or `note`).
    """
    try:
        documents = read_documents(root)
        if documents_only:
            tensors = None
        elif tensors is None:
            tensors = own_tensors(root)
        receipt = compare_declarations(documents, None, tensors)
    except TrlmError as error:
        return [_error(error)]
    findings = [f.to_map() for f in receipt.findings]
    findings += [_error(error) for error in _schema_problems(documents, tensors, dtypes)]
    findings += [_missing(name) for name in _OPTIONAL if name not in documents.present]
    if tensors is None and not documents_only:
        findings.append(_missing("model.safetensors"))
    return findings + [note.to_map() for note in _left_open(documents, tensors)]


def require_consistent(
    root: Path,
    tensors: Tensors | None,
    *,
    dtypes: frozenset[str] = SNAPSHOT_DTYPES,
    resolutions: Sequence[Resolution] = (),
) -> ConflictReceipt:
    """Refuse a model directory that the same rules find fault with; its receipt otherwise.

    Raises:
        ConflictError: declarations that contradict each other.
        UnknownFieldError, FieldValueError: a key or value that the schema does not know.
        TensorMissingError, TensorUnknownError, TensorShapeError, TensorDtypeError: the weights
            are not those of the configuration.
        JsonError, JsonDuplicateKeyError, PartMissingError: a document cannot be read.
    """
    documents = read_documents(root)
    receipt = compare_declarations(documents, None, tensors, resolutions)
    require_no_stops(receipt)
    for error in _schema_problems(documents, tensors, dtypes):
        raise error
    return receipt


def require_no_stops(receipt: ConflictReceipt) -> None:
    """Raise ConflictError where a receipt stops."""
    if receipt.stops:
        first = receipt.stops[0]
        codes = ", ".join(sorted({f.code for f in receipt.stops}))
        raise ConflictError(where=first.where, codes=codes, detail=first.detail, receipt=receipt)


def _error(error: TrlmError) -> dict[str, str]:
    return {**error.as_finding(), "level": "error"}


def _missing(name: str) -> dict[str, str]:
    return ConflictFinding("MISSING_PART", name, "the file is not there", NOTE).to_map()


def _schema_problems(
    documents: Documents, tensors: Tensors | None, dtypes: frozenset[str]
) -> list[TrlmError]:
    """Of a family with a schema: the first bad field, or else every bad tensor."""
    if documents.config.get("model_type") != llama.MODEL_TYPE:
        return []
    try:
        # The sizes are only meaningful once the schema has accepted their types and ranges.
        classify(documents.config, llama.CONFIG_SCHEMA, "config.json")
        llama.check_relations(documents.config, "config.json")
        classify(documents.generation, llama.GENERATION_SCHEMA, "generation_config.json")
    except TrlmError as error:
        return [error]
    sizes = llama.Sizes.of(documents.config)
    if sizes is None or tensors is None:
        return []
    return tensor_problems(llama.expected_tensors(sizes), tensors, dtypes)


def _left_open(documents: Documents, tensors: Tensors | None) -> list[ConflictFinding]:
    family = documents.config.get("model_type")
    if family != llama.MODEL_TYPE:
        detail = f"no closed schema for the family {str(family)[:80]!r}"
        return [ConflictFinding("FAMILY_UNSUPPORTED", "config.json#/model_type", detail, NOTE)]
    if tensors is not None and llama.Sizes.of(documents.config) is None:
        detail = "config.json leaves a size to the source framework; describe the model instead"
        return [ConflictFinding("TENSORS_UNCHECKED", "config.json", detail, NOTE)]
    return []
