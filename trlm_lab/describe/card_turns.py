"""Turns, control tokens and templates that the model card shows, against the template."""

from __future__ import annotations

import re

from trlm_lab.describe.card_values import Item
from trlm_lab.describe.compared import Compared
from trlm_lab.describe.model_card import ROLE_WORDS, Marker
from trlm_lab.describe.receipt import NOTE, Declaration

_FIELD = "chat_template"
#: A template that joins the name of the role to its token.
_JOINED = re.compile(r"<\|(?:[\"']|\{\{)")
_OWN_TURN = re.compile(rf"<\|(?:{ROLE_WORDS})\|>")


def card_template(compared: Compared) -> list[Declaration]:
    """Turns and templates of the card against the template; unknown control tokens are a note."""
    card = compared.documents.card
    written = "\n".join(sorted(compared.templates.texts))
    comparable = bool(written or compared.documents.tokenizer)
    known = _special_texts(compared)
    turns = [m for m in card.markers if m.turn]
    strange = [m for m in card.markers if comparable and not _known(m, written, known, compared)]
    if unknown := [m for m in strange if not m.turn]:
        places = ", ".join(f"{m.text!r} in line {m.line} of {m.file}" for m in unknown[:8])
        what = "tokenizer.json has no such token, and no template writes one"
        place = f"{unknown[0].file}, line {unknown[0].line}"
        compared.findings.add("CARD_MARKER", place, f"{places}: {what}", _FIELD, NOTE)
    _turn_conflict([m for m in strange if m.turn], written, compared)
    literals = [s for s in card.statements if s.name == _FIELD]
    return [m.declaration for m in (*turns, *unknown)] + [s.declaration for s in literals]


def _turn_conflict(strange: list[Marker], written: str, compared: Compared) -> None:
    what = "the template never writes it" if written else "tokenizer.json has no such token"
    found = [
        f"{m.file}, line {m.line}: the model card shows a turn with {m.text!r}, and {what}"
        for m in strange
    ]
    for statement in compared.documents.card.statements:
        if statement.name == _FIELD and any(_differs(item, compared) for item in statement.items):
            place = f"{statement.file}, line {statement.line}"
            found.append(f"{place}: the model card gives another template than the files")
    if found:
        more = [f"{len(found) - 8} more"] if len(found) > 8 else []
        place, detail = found[0].split(": ", 1)[0], "; ".join(found[:8] + more)
        compared.findings.add("MODEL_CARD_CONFLICT", place, detail, _FIELD)


def _differs(item: Item, compared: Compared) -> bool:
    """Another template; a value without Jinja's marks is the name of one, or of its file."""
    texts = {text.strip() for text in compared.templates.texts}
    return (
        isinstance(item, str)
        and ("{{" in item or "{%" in item)
        and bool(texts)
        and item.strip() not in texts
    )


def _known(marker: Marker, written: str, named: set[str], compared: Compared) -> bool:
    if marker.text in written or marker.text in named:
        return True
    if _OWN_TURN.fullmatch(marker.text) and _JOINED.search(written):
        return True
    in_vocabulary = compared.vocab.id_of(marker.text) is not None
    return in_vocabulary and not (marker.turn and written)


def _special_texts(compared: Compared) -> set[str]:
    texts = set()
    for row in (compared.documents.tokenizer_config, compared.documents.special_map):
        for role in ("bos", "eos", "pad", "unk"):
            raw = row.get(f"{role}_token")
            text = raw.get("content") if isinstance(raw, dict) else raw
            texts |= {text} if isinstance(text, str) else set()
    return texts
