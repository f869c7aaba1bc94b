"""Chat templates: one text, readable, and the same turns as the model card shows."""

from __future__ import annotations

import hashlib

from trlm_lab.base.blobs import file_sha256
from trlm_lab.describe.card_turns import card_template
from trlm_lab.describe.compared import Compared, Templates
from trlm_lab.describe.declarations import Documents
from trlm_lab.describe.receipt import Declaration, Evidence
from trlm_lab.describe.templates import DeclaredTemplate, declared_templates, template_tokens
from trlm_lab.describe.vocabulary import Vocabulary

_FIELD = "chat_template"


def read_templates(documents: Documents, vocab: Vocabulary, place: str | None = None) -> Templates:
    """Every template; the tokens of the one at `place`, or where all readable ones are the same."""
    templates = Templates(tuple(declared_templates(documents)))
    readable = [t for t in templates.declared if not t.problem]
    named = [t for t in readable if t.place == place]
    run = next(iter(named if len(templates.texts) > 1 else readable), None)
    if run is None:
        return templates
    tokens = template_tokens(run.text, vocab.control_texts)
    if isinstance(tokens, str):
        return Templates(templates.declared, run, problem=tokens)
    return Templates(templates.declared, run, tokens)


def template_evidence(compared: Compared) -> Evidence:
    """The templates by place and digest; no publisher's name chooses between several."""
    templates, findings = compared.templates, compared.findings
    publisher = template_declarations(compared)
    for template in templates.declared:
        if template.problem:
            findings.add("TEMPLATE_SYNTAX", template.place, template.problem, _FIELD)
    if templates.run is not None and templates.problem:
        findings.add("TEMPLATE_SYNTAX", templates.run.place, templates.problem, _FIELD)
    if len(templates.texts) > 1:
        places = ", ".join(t.place for t in templates.declared)
        count = len(templates.texts)
        detail = f"{count} different templates, none chosen by the publisher: {places}"
        findings.add("TEMPLATE_AMBIGUOUS", templates.declared[0].place, detail, _FIELD)
    publisher += card_template(compared)
    if not templates.declared:
        return Evidence(_FIELD, tuple(publisher), undefined="no file declares it")
    chosen = None if findings.about(_FIELD) else templates.declared[0].place
    return Evidence(_FIELD, tuple(publisher), chosen=chosen)


def template_declarations(compared: Compared) -> list[Declaration]:
    """Every template by the length and digest of its text."""
    return [
        Declaration(t.file, t.pointer, _digest(t, compared.documents))
        for t in compared.templates.declared
    ]


def _digest(template: DeclaredTemplate, documents: Documents) -> str:
    if not template.problem:
        data = template.text.encode("utf-8", "surrogatepass")
        return f"{len(data)} bytes, SHA-256 {hashlib.sha256(data).hexdigest()}"
    # No text was read: it is named by the file that should hold one.
    whole = documents.digests.get(template.file)
    if whole is None:
        whole = file_sha256(documents.root / template.file)
    return f"unreadable, SHA-256 of the file {whole}"
