"""What the declarations of a model directory say against one another, without the framework.

The same rules stop an acquisition (`require_consistent`) and make the findings of a check.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from trlm_lab.describe.conflicts import compare_declarations
from trlm_lab.describe.declarations import Documents, read_documents
from trlm_lab.describe.families import llama
from trlm_lab.describe.ledger_plan import tensor_problems, unknown_tensors
from trlm_lab.describe.receipt import NOTE, ConflictFinding, ConflictReceipt
from trlm_lab.describe.resolution import Resolution
from trlm_lab.describe.schema import classify
from trlm_lab.describe.weights import SNAPSHOT_DTYPES, Tensors, own_tensors
from trlm_lab.errors import ConflictError, FamilyUnsupportedError, TrlmError

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
    leaves the weights out. A family without a schema is an error where there are weights, which
    nothing here could convert; declarations alone are compared, which a note says. Each finding has
    `code`, `where`, `detail`, `fix` and `level` (`error` or `note`).
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
    if tensors is not None or not _foreign(documents):
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

    `tensors` None: those of `model.safetensors`, where it is there.

    Raises:
        FamilyUnsupportedError: no schema for this family, with weights or without.
        ConflictError: declarations that contradict each other.
        UnknownFieldError, FieldValueError: a key or value that the schema does not know.
        TensorMissingError, TensorUnknownError, TensorShapeError, TensorDtypeError: the weights
            are not those of the configuration.
        JsonError, JsonDuplicateKeyError, PartMissingError: a document cannot be read.
    """
    documents = read_documents(root)
    if tensors is None:
        tensors = own_tensors(root)
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
    """The family without a schema, or of one with a schema: its first bad field, or bad tensors."""
    if _foreign(documents):
        family = documents.config.get("model_type")
        place = "config.json#/model_type"
        return [FamilyUnsupportedError(where=place, family=family, known=llama.MODEL_TYPE)]
    try:
        # The sizes are only meaningful once the schema has accepted their types and ranges.
        classify(documents.config, llama.CONFIG_SCHEMA, "config.json")
        llama.check_relations(documents.config, "config.json")
        classify(documents.generation, llama.GENERATION_SCHEMA, "generation_config.json")
    except TrlmError as error:
        return [error]
    sizes = llama.Sizes.of(documents.config)
    if tensors is None:
        return []
    if sizes is None:
        return unknown_tensors(tensors, llama.is_tensor)
    return tensor_problems(llama.expected_tensors(sizes), tensors, dtypes)


def _foreign(documents: Documents) -> bool:
    return bool(documents.config.get("model_type") != llama.MODEL_TYPE)


def _left_open(documents: Documents, tensors: Tensors | None) -> list[ConflictFinding]:
    if _foreign(documents):
        if tensors is not None:
            return []
        family = documents.config.get("model_type")
        detail = f"no closed schema for the family {str(family)[:80]!r}"
        return [ConflictFinding("FAMILY_UNSUPPORTED", "config.json#/model_type", detail, NOTE)]
    if tensors is not None and llama.Sizes.of(documents.config) is None:
        detail = "config.json leaves a size to the source framework; describe the model instead"
        return [ConflictFinding("TENSORS_UNCHECKED", "config.json", detail, NOTE)]
    return []
