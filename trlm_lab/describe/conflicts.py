"""The conflict detector: declarations that contradict each other stop everything that follows.

Nothing is resolved by precedence. A role that one file declares and another leaves open is no
conflict; two files that declare different ids are. Independent of the model family.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from trlm_lab.base.records import SourceDefaults
from trlm_lab.describe.card_conflicts import card_evidence, card_notes
from trlm_lab.describe.compared import Compared, Findings
from trlm_lab.describe.declarations import FURTHER, ROLES, Documents, read_documents
from trlm_lab.describe.insertion_conflicts import insertion_evidence
from trlm_lab.describe.looked_at import looked_at
from trlm_lab.describe.receipt import ConflictReceipt
from trlm_lab.describe.resolution import Resolution
from trlm_lab.describe.resolving import resolved
from trlm_lab.describe.role_conflicts import role_evidence
from trlm_lab.describe.special_tokens import special_token_evidence
from trlm_lab.describe.template_conflicts import read_templates, template_evidence
from trlm_lab.describe.tensor_conflicts import (
    architecture,
    licence,
    rotary_base,
    rotary_kind,
    tied_embeddings,
    vocabulary_size,
)
from trlm_lab.describe.tokenizer_conflicts import tokenizer_evidence
from trlm_lab.describe.vocabulary import vocabulary
from trlm_lab.describe.weights import Tensors, own_tensors


def detect_conflicts(
    root: Path, defaults: SourceDefaults | None = None, resolutions: Sequence[Resolution] = ()
) -> ConflictReceipt:
    """Compare every declaration of a snapshot; tokenizer and weights may be absent.

    `defaults`, where given, fill the evidence column of the source implementation.

    Raises:
        JsonError, JsonDuplicateKeyError, PartMissingError: a document is no strict JSON, or
            there is no `config.json`.
        SafetensorsError: `model.safetensors` is there and broken.
    """
    return compare_declarations(read_documents(root), defaults, own_tensors(root), resolutions)


def compare_declarations(
    documents: Documents,
    defaults: SourceDefaults | None = None,
    tensors: Tensors | None = None,
    resolutions: Sequence[Resolution] = (),
) -> ConflictReceipt:
    """As `detect_conflicts`, over documents that were read already.

    Raises:
        ResolutionUnmatchedError, ResolutionValueError: a resolution settles none of the conflicts.
    """
    supplied = {} if defaults is None else {d.name: d.value for d in defaults.values}
    vocab = vocabulary(documents.tokenizer)
    findings = Findings()
    # A template that a person chose is held against the stops and owners as any other is.
    places = (r.value for r in resolutions if r.field == "chat_template")
    templates = read_templates(documents, vocab, next(places, None))
    compared = Compared(documents, vocab, templates, tensors or {}, findings, supplied)
    evidence = [
        architecture(compared),
        vocabulary_size(compared),
        tied_embeddings(compared),
        rotary_base(compared),
        rotary_kind(compared),
        tokenizer_evidence(compared),
    ]
    chosen: dict[str, tuple[int, ...]] = {}
    for role in (*ROLES, *FURTHER):
        row, ids = role_evidence(role, compared)
        if role in ROLES or row.publisher:
            evidence.append(row)
        if ids:
            chosen[role] = ids
    evidence += special_token_evidence(compared)
    evidence += [template_evidence(compared), *insertion_evidence(compared, chosen)]
    evidence += [licence(compared), *card_evidence(compared), *card_notes(compared)]
    columns = tuple(
        replace(
            e, source=supplied.get(e.field, e.source), compared=looked_at(e, compared, evidence)
        )
        for e in evidence
    )
    receipt = ConflictReceipt(columns, tuple(findings.rows), chosen)
    seen = defaults is not None
    return resolved(receipt, resolutions, documents, vocab, framework_seen=seen)
