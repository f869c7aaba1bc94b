"""Chat templates: one text, readable, and the same turns as the model card shows."""

from __future__ import annotations

from trlm_lab.describe.compared import Compared, Templates
from trlm_lab.describe.declarations import Documents
from trlm_lab.describe.receipt import Declaration, Evidence
from trlm_lab.describe.templates import declared_templates, template_tokens
from trlm_lab.describe.vocabulary import Vocabulary

_FIELD = "chat_template"


def read_templates(documents: Documents, vocab: Vocabulary) -> Templates:
    """Every template; the tokens of the text where all readable ones are the same."""
    templates = Templates(tuple(declared_templates(documents)))
    if len(templates.texts) != 1:
        return templates
    tokens = template_tokens(next(iter(templates.texts)), vocab.control_texts)
    if isinstance(tokens, str):
        return Templates(templates.declared, problem=tokens)
    return Templates(templates.declared, tokens)


def template_evidence(compared: Compared) -> Evidence:
    """The templates by place and length; no publisher's name chooses between several."""
    templates, findings = compared.templates, compared.findings
    publisher = [Declaration(t.file, t.pointer, len(t.text)) for t in templates.declared]
    for template in templates.declared:
        if template.problem:
            findings.add("TEMPLATE_SYNTAX", template.place, template.problem, _FIELD)
    if templates.problem:
        findings.add("TEMPLATE_SYNTAX", templates.declared[0].place, templates.problem, _FIELD)
    if len(templates.texts) > 1:
        places = ", ".join(t.place for t in templates.declared)
        count = len(templates.texts)
        detail = f"{count} different templates, none chosen by the publisher: {places}"
        findings.add("TEMPLATE_AMBIGUOUS", templates.declared[0].place, detail, _FIELD)
    publisher += _card(compared)
    if not templates.declared:
        return Evidence(_FIELD, tuple(publisher), undefined="no file declares it")
    chosen = None if findings.about(_FIELD) else templates.declared[0].place
    return Evidence(_FIELD, tuple(publisher), chosen=chosen)


def _card(compared: Compared) -> list[Declaration]:
    """Control tokens of a turn that the card shows, and the one template never writes."""
    card, templates = compared.documents.card, compared.templates
    if not card.shown or len(templates.texts) > 1:
        return []
    text = next(iter(templates.texts), "")
    named = _special_texts(compared)
    strange = []
    for control, line in card.shown.items():
        known = control in text if text else compared.vocab.id_of(control) is not None
        if not known and control not in named and (text or compared.documents.tokenizer):
            strange.append((line, control))
    if strange:
        line, control = strange[0]
        what = "the template never writes it" if text else "tokenizer.json has no such token"
        place = f"{card.name}, line {line}"
        detail = f"the model card shows a turn with {control!r}, and {what}"
        compared.findings.add("MODEL_CARD_CONFLICT", place, detail, _FIELD)
    first = min(card.shown.values())
    return [Declaration(card.name, f"line {first}", sorted(card.shown))]


def _special_texts(compared: Compared) -> set[str]:
    texts = set()
    for row in (compared.documents.tokenizer_config, compared.documents.special_map):
        for role in ("bos", "eos", "pad", "unk"):
            raw = row.get(f"{role}_token")
            text = raw.get("content") if isinstance(raw, dict) else raw
            texts |= {text} if isinstance(text, str) else set()
    return texts
