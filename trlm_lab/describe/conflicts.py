"""The conflict detector: declarations that contradict each other stop everything that follows.

Nothing is resolved by precedence. A role that one file declares and another leaves open is no
conflict; two files that declare different ids are. Independent of the model family.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from trlm_lab.base.records import SourceDefaults
from trlm_lab.base.safetensors_header import TensorInfo, read_header
from trlm_lab.describe.declarations import (
    ROLES,
    Declared,
    Documents,
    Vocabulary,
    declared_ids,
    declared_templates,
    is_id,
    read_documents,
    vocabulary,
)
from trlm_lab.describe.receipt import NOTE, ConflictFinding, ConflictReceipt, Evidence

#: Model type -> the one class of the source framework that decodes with it.
ARCHITECTURES = {
    "llama": "LlamaForCausalLM",
    "mistral": "MistralForCausalLM",
    "qwen2": "Qwen2ForCausalLM",
    "qwen3": "Qwen3ForCausalLM",
    "gemma2": "Gemma2ForCausalLM",
    "gemma3_text": "Gemma3ForCausalLM",
    "gpt2": "GPT2LMHeadModel",
    "olmo2": "Olmo2ForCausalLM",
    "phi3": "Phi3ForCausalLM",
}

_EMBEDDINGS = ("model.embed_tokens.weight", "lm_head.weight")


def detect_conflicts(root: Path, defaults: SourceDefaults | None = None) -> ConflictReceipt:
    """Compare every declaration of a model directory; tokenizer and weights may be absent.

    `defaults`, where given, fill the evidence column of the source implementation.

    Raises:
        JsonError, JsonDuplicateKeyError: a document is no strict JSON.
        SafetensorsError: `model.safetensors` is there and broken.
    """
    return compare_declarations(read_documents(root), defaults)


def compare_declarations(
    documents: Documents, defaults: SourceDefaults | None = None
) -> ConflictReceipt:
    """As `detect_conflicts`, over documents that were read already."""
    vocab = vocabulary(documents)
    findings: list[ConflictFinding] = []
    evidence: list[Evidence] = []
    chosen: dict[str, tuple[int, ...]] = {}
    evidence.append(_architecture(documents, findings))
    evidence.append(_vocabulary_size(documents, vocab, _tensors(documents.root), findings))
    _added_tokens(documents, vocab, findings)
    for role in ROLES:
        evidence.append(_role(role, documents, vocab, findings, chosen))
    evidence.append(_templates(documents, findings))
    supplied = {} if defaults is None else {d.name: d.value for d in defaults.values}
    columns = tuple(replace(e, source=supplied.get(e.field)) for e in evidence)
    return ConflictReceipt(columns, tuple(findings), chosen)


def _tensors(root: Path) -> dict[str, TensorInfo]:
    path = root / "model.safetensors"
    return {t.name: t for t in read_header(path)} if path.is_file() else {}


def _architecture(documents: Documents, findings: list[ConflictFinding]) -> Evidence:
    kind, classes = documents.config.get("model_type"), documents.config.get("architectures")
    declared = {"config.json:model_type": kind, "config.json:architectures": classes}
    where = "config.json"
    if not isinstance(kind, str) or not isinstance(classes, list) or not classes:
        detail = "model_type and architectures must both be given"
        findings.append(ConflictFinding("ARCHITECTURE_MISSING", where, detail))
    elif len(classes) > 1 or ARCHITECTURES.get(kind, classes[0]) != classes[0]:
        detail = f"model_type {kind!r} beside the architectures {classes}"
        findings.append(ConflictFinding("ARCHITECTURE_CONFLICT", where, detail))
    else:
        return Evidence("architecture", declared, chosen=classes[0])
    return Evidence("architecture", declared)


def _vocabulary_size(
    documents: Documents,
    vocab: Vocabulary,
    tensors: dict[str, TensorInfo],
    findings: list[ConflictFinding],
) -> Evidence:
    for problem in vocab.problems:
        findings.append(ConflictFinding("TOKENIZER_INCOMPLETE", "tokenizer.json", problem))
    size = documents.config.get("vocab_size")
    declared: dict[str, Any] = {"config.json": size}
    if documents.tokenizer:
        declared["tokenizer.json"] = vocab.size
    rows = {name: tensors[name].shape[0] for name in _EMBEDDINGS if _is_matrix(tensors, name)}
    declared.update({f"model.safetensors:{name}": count for name, count in rows.items()})
    if not is_id(size) or not size:
        detail = f"vocab_size is {size!r}"
        findings.append(ConflictFinding("VOCAB_CONFLICT", "config.json", detail))
        return Evidence("vocab_size", declared)
    sound = vocab.size <= size and set(rows.values()) <= {size}
    if not sound:
        # A padded embedding may be larger than the tokenizer; never the other way round.
        detail = "; ".join(f"{place} says {count}" for place, count in declared.items())
        findings.append(ConflictFinding("VOCAB_CONFLICT", "config.json", detail))
    return Evidence("vocab_size", declared, chosen=size if sound else None)


def _is_matrix(tensors: dict[str, TensorInfo], name: str) -> bool:
    return name in tensors and len(tensors[name].shape) == 2


def _added_tokens(documents: Documents, vocab: Vocabulary, findings: list[ConflictFinding]) -> None:
    if not documents.tokenizer:
        return
    table = documents.tokenizer_config.get("added_tokens_decoder")
    for key, row in (table if isinstance(table, dict) else {}).items():
        text = row.get("content") if isinstance(row, dict) else None
        if not isinstance(text, str) or str(vocab.id_of(text)) != key:
            got = vocab.id_of(text) if isinstance(text, str) else None
            detail = f"id {key} is {text!r}, which tokenizer.json gives the id {got}"
            where = "tokenizer_config.json:added_tokens_decoder"
            findings.append(ConflictFinding("ADDED_TOKEN_ID", where, detail))
    for text, number in vocab.added.items():
        if vocab.ids.get(text, number) != number:
            detail = f"{text!r} is added as {number}, and {vocab.ids[text]} in the vocabulary"
            findings.append(ConflictFinding("ADDED_TOKEN_ID", "tokenizer.json", detail))


def _role(
    role: str,
    documents: Documents,
    vocab: Vocabulary,
    findings: list[ConflictFinding],
    chosen: dict[str, tuple[int, ...]],
) -> Evidence:
    field = f"{role}_token_id"
    rows = declared_ids(documents, vocab, role)
    publisher = {row.file: row.raw for row in rows}
    before = len(findings)
    findings.extend(_role_findings(role.upper(), rows, documents.config.get("vocab_size")))
    ids = {i for row in rows for i in row.ids or ()}
    if len(findings) > before:
        return Evidence(field, publisher)
    if not ids:
        if role == "eos":
            detail = "no file declares a stop token, and none is guessed"
            findings.append(ConflictFinding("EOS_MISSING", "config.json", detail))
        return Evidence(field, publisher, undefined="no file declares it")
    if role != "unk" and documents.tokenizer and not ids <= vocab.special:
        detail = f"{sorted(ids - vocab.special)} are no special tokens of tokenizer.json"
        note = ConflictFinding(f"{role.upper()}_ORDINARY", "tokenizer.json", detail, NOTE)
        findings.append(note)
    chosen[role] = tuple(sorted(ids))
    return Evidence(field, publisher, chosen=sorted(ids))


def _role_findings(role: str, rows: list[Declared], size: Any) -> list[ConflictFinding]:
    found = [ConflictFinding(f"{role}_CONFLICT", r.file, r.problem) for r in rows if r.problem]
    for row in rows:
        beyond = [i for i in row.ids or () if is_id(size) and i >= size]
        if beyond:
            detail = f"id {beyond[0]} is outside the vocabulary of {size}"
            found.append(ConflictFinding(f"{role}_RANGE", row.file, detail))
    lists = {row.ids for row in rows if row.ids is not None and row.file in _NUMBERED}
    named = {row.ids for row in rows if row.ids is not None and row.file not in _NUMBERED}
    # Files with ids declare the whole set; a tokenizer file can name only one of its members.
    member = all(set(one) <= set(whole) for one in named for whole in lists)
    if len(lists) > 1 or len(named) > 1 or not member:
        detail = "; ".join(f"{r.file} says {r.raw!r} = {list(r.ids or ())}" for r in rows)
        found.append(ConflictFinding(f"{role}_CONFLICT", rows[0].file, detail))
    return found


_NUMBERED = {"config.json", "generation_config.json"}


def _templates(documents: Documents, findings: list[ConflictFinding]) -> Evidence:
    templates = declared_templates(documents)
    if len(set(templates.values())) > 1:
        detail = f"{len(templates)} templates, none chosen by the publisher: {sorted(templates)}"
        findings.append(ConflictFinding("TEMPLATE_AMBIGUOUS", sorted(templates)[0], detail))
    where = {place: len(text) for place, text in templates.items()}
    return Evidence("chat_template", where, undefined="" if templates else "no file declares it")
