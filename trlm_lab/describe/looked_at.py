"""What the rules of a field look at beside its declarations: the rest of a conflict's name.

A rule may compare a whole file and show a count, or a text and show its beginning. The name of a
conflict changes with any byte of what was compared, so all of it stands here, by value or digest.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from trlm_lab.describe.card_values import Reference
from trlm_lab.describe.compared import Compared
from trlm_lab.describe.declarations import FURTHER, ROLES, role_texts
from trlm_lab.describe.insertion_conflicts import FIELDS
from trlm_lab.describe.receipt import Declaration, Evidence
from trlm_lab.describe.template_conflicts import template_declarations

_ROLE_FIELDS = {f"{role}_token_id": role for role in (*ROLES, *FURTHER)}
#: Field -> the files that its rules read in full.
_WHOLE = {
    "vocab_size": ("tokenizer.json",),
    "tokenizer": (
        "tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "added_tokens.json",
        "vocab.json",
    ),
    "chat_template": ("tokenizer.json",),
    "special_tokens": ("tokenizer.json",),
    **dict.fromkeys([*_ROLE_FIELDS, *FIELDS.values()], ("tokenizer.json",)),
}  # fmt: skip


def looked_at(
    evidence: Evidence, compared: Compared, rows: Sequence[Evidence]
) -> tuple[Declaration, ...]:
    """All that belongs to one field; `rows` are the evidence of every field."""
    field, documents = evidence.field, compared.documents
    found = [
        Declaration(name, "", f"SHA-256 {documents.digests[name]}")
        for name in _WHOLE.get(field, ())
        if name in documents.digests
    ]
    found += _card_words(evidence, compared)
    if field in _ROLE_FIELDS:
        found += _of_role(_ROLE_FIELDS[field], evidence, compared, rows)
    if field == "chat_template" and documents.card.markers:
        found += [d for role in (*ROLES, *FURTHER) for d in role_texts(documents, role)]
    if field in FIELDS.values():
        roles = ("bos_token_id", "eos_token_id")
        found += [d for row in rows if row.field in roles for d in row.publisher]
        found += template_declarations(compared)
    return (*evidence.compared, *found)


def _of_role(
    role: str, evidence: Evidence, compared: Compared, rows: Sequence[Evidence]
) -> Iterator[Declaration]:
    documents = compared.documents
    yield Declaration("config.json", "/vocab_size", documents.config.get("vocab_size"))
    yield from role_texts(documents, role)
    if role == "eos":
        yield from template_declarations(compared)
        stops = documents.generation.get("stop_strings")
        yield Declaration("generation_config.json", "/stop_strings", stops)
    if _refers(evidence, compared):
        yield from (d for r in rows if r.field in _ROLE_FIELDS for d in r.publisher)


def _statements(evidence: Evidence, compared: Compared) -> Iterator[tuple[str, bool]]:
    """The digests of the card's words about a field, and whether they name another role."""
    declared = {(d.file, d.pointer) for d in evidence.publisher}
    for one in compared.documents.card.statements:
        if (one.file, f"line {one.line}") in declared:
            yield one.sha256, any(isinstance(item, Reference) for item in one.items)


def _card_words(evidence: Evidence, compared: Compared) -> list[Declaration]:
    digests = [digest for digest, _ in _statements(evidence, compared)]
    return [Declaration("model card", "", f"SHA-256 {digest}") for digest in digests]


def _refers(evidence: Evidence, compared: Compared) -> bool:
    return any(refers for _, refers in _statements(evidence, compared))
