"""What the declarations of a model directory say against one another, without the framework.

The same rules stop an acquisition (`require_consistent`) and make the findings of a check.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from trlm_lab.describe.conflicts import compare_declarations
from trlm_lab.describe.declarations import Documents, read_documents
from trlm_lab.describe.families import FAMILIES, GENERATION_SCHEMA, Family
from trlm_lab.describe.ledger_plan import expected_tensors, tensor_problems, unknown_tensors
from trlm_lab.describe.outline import check_relations, has_tensor, outline
from trlm_lab.describe.receipt import NOTE, ConflictFinding, ConflictReceipt
from trlm_lab.describe.resolution import Resolution
from trlm_lab.describe.schema import ClassifiedField, classify
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
    if tensors is not None or family_of(documents) is not None:
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


def family_of(documents: Documents) -> Family | None:
    """The family that `config.json` names, where it has a schema."""
    kind = documents.config.get("model_type")
    return FAMILIES.get(kind) if isinstance(kind, str) else None


def check_documents(documents: Documents, family: Family) -> tuple[ClassifiedField, ...]:
    """The keys of `config.json` with their classification, every rule of the family checked.

    Raises:
        UnknownFieldError, FieldValueError: a key or value that the schema does not know.
    """
    classified = classify(documents.config, family.schema, "config.json")
    check_relations(family, documents.config)
    classify(documents.generation, GENERATION_SCHEMA, "generation_config.json")
    return classified


def unsupported(documents: Documents) -> FamilyUnsupportedError:
    """The error of a family without a schema."""
    kind, known = documents.config.get("model_type"), ", ".join(sorted(FAMILIES))
    return FamilyUnsupportedError(where="config.json#/model_type", family=kind, known=known)


def _schema_problems(
    documents: Documents, tensors: Tensors | None, dtypes: frozenset[str]
) -> list[TrlmError]:
    """The family without a schema, or of one with a schema: its first bad field, or bad tensors."""
    family = family_of(documents)
    if family is None:
        return [unsupported(documents)]
    try:
        # The sizes are only meaningful once the schema has accepted their types and ranges.
        check_documents(documents, family)
    except TrlmError as error:
        return [error]
    if tensors is None:
        return []
    shape = outline(family, documents.config)
    if shape is None:
        return unknown_tensors(tensors, lambda name: has_tensor(family, name))
    return tensor_problems(expected_tensors(shape, tensors), tensors, dtypes)


def _left_open(documents: Documents, tensors: Tensors | None) -> list[ConflictFinding]:
    family = family_of(documents)
    if family is None:
        if tensors is not None:
            return []
        kind = documents.config.get("model_type")
        detail = f"no closed schema for the family {str(kind)[:80]!r}"
        return [ConflictFinding("FAMILY_UNSUPPORTED", "config.json#/model_type", detail, NOTE)]
    if tensors is not None and _sizes_open(family, documents):
        detail = "config.json leaves a size to the source framework; describe the model instead"
        return [ConflictFinding("TENSORS_UNCHECKED", "config.json", detail, NOTE)]
    return []


def _sizes_open(family: Family, documents: Documents) -> bool:
    try:
        check_documents(documents, family)
    except TrlmError:
        return False
    return outline(family, documents.config) is None
