"""What the model card's examples assign, against what the files declare."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from trlm_lab.base.config_bounds import shown
from trlm_lab.describe.card_front import FACTS
from trlm_lab.describe.card_values import CONTROL, SAMPLING, STOPS, TOKEN_STOPS, Item, Reference
from trlm_lab.describe.compared import Compared
from trlm_lab.describe.model_card import Statement
from trlm_lab.describe.receipt import ERROR, NOTE, Declaration, Evidence

CONFLICT = "MODEL_CARD_CONFLICT"
_ROLE_NAME = re.compile(r"(bos|eos|pad|unk)_token(?:_id)?(?:\(|\Z)")

Ids = Mapping[str, tuple[int, ...]]
#: (code, statement, what is wrong)
Objection = tuple[str, Statement, str]


def card_notes(compared: Compared) -> list[Evidence]:
    """A note for every card that could not be read in full, and a row that names the cards."""
    card = compared.documents.card
    for place, detail in card.problems:
        compared.findings.add("CARD_UNREADABLE", place, detail, "model_card", NOTE)
    names = tuple(Declaration(name, "", f"SHA-256 {digest}") for name, digest in card.digests)
    return [Evidence("model_card", names)] if card.problems else []


def card_role(role: str, declared: Ids, compared: Compared) -> list[Declaration]:
    """What the card says of a role; `declared` are the ids of the files, by role."""
    names = {f"{role}_token", f"{role}_token_id"} | (STOPS if role == "eos" else set())
    stated = [s for s in compared.documents.card.statements if s.name in names]
    # A name that means itself, as `eos_token_id=tokenizer.eos_token_id`, says nothing.
    stated = [s for s in stated if any(_means(item) != role and _said(s, item) for item in s.items)]
    found = [o for s in stated for o in _objections(s, role, declared, compared)]
    for code in sorted({code for code, _, _ in found}):
        _report(code, [o for o in found if o[0] == code], f"{role}_token_id", compared)
    return [s.declaration for s in stated]


def _report(code: str, found: list[Objection], field: str, compared: Compared) -> None:
    """One finding a rule and field: that is what one resolution settles."""
    first = found[0][1]
    details = [f"{s.file}, line {s.line}, says {shown(s.quote)}: {why}" for _, s, why in found[:8]]
    more = [f"{len(found) - 8} more"] if len(found) > 8 else []
    level = ERROR if code == CONFLICT else NOTE
    place = f"{first.file}, line {first.line}"
    compared.findings.add(code, place, "; ".join(details + more), field, level)


def _said(statement: Statement, item: Item) -> bool:
    """Whether an item can say something of a token under this name."""
    if isinstance(item, (bool, float)):
        return False
    if isinstance(item, Reference):
        return _means(item) != "" and statement.name not in STOPS
    if statement.name in STOPS:
        return isinstance(item, int) == (statement.name == TOKEN_STOPS)
    return True


def _means(item: Item) -> str:
    """The role that a name refers to; empty for everything else."""
    last = item.name.rsplit(".", 1)[-1] if isinstance(item, Reference) else ""
    match = _ROLE_NAME.match(last)
    return match[1] if match else ""


def _objections(
    statement: Statement, role: str, declared: Ids, compared: Compared
) -> Iterator[Objection]:
    ids = declared.get(role, ())
    if not ids:
        return
    said = f"the files say {list(ids)}"
    items = [item for item in statement.items if _said(statement, item)]
    numbers = {i for i in items if isinstance(i, int)}
    # The argument replaces the whole stop set of the call, as the files declare the whole of it.
    complete = statement.whole and len(numbers) == len(items)
    if numbers - set(ids):
        yield CONFLICT, statement, said
    elif statement.name == "eos_token_id" and complete and numbers != set(ids):
        yield CONFLICT, statement, f"fewer stops; {said}"
    for item in items:
        if isinstance(item, Reference):
            other = declared.get(_means(item), ())
            if other and not set(other) & set(ids):
                yield "CARD_REFERENCE", statement, f"that is {list(other)}, and {said}"
        elif isinstance(item, str):
            yield from _text_objections(statement, item, ids, compared)


def _text_objections(
    statement: Statement, text: str, ids: tuple[int, ...], compared: Compared
) -> Iterator[Objection]:
    if not compared.documents.tokenizer:
        return  # Without tokenizer.json the text cannot be resolved; it is evidence.
    vocab = compared.vocab
    number, stop = vocab.id_of(text), statement.name in STOPS
    if number in ids:
        return
    control = number in vocab.added.values() or CONTROL.fullmatch(text)
    if stop and not control:
        strings = compared.documents.generation.get("stop_strings")
        if text not in (strings if isinstance(strings, list) else [strings]):
            yield "CARD_STOP", statement, "no file declares this text as a stop"
    elif stop and number is None and _stops_too(statement, ids, compared):
        # A list for several models: what the vocabulary does not know never comes.
        yield "CARD_STOP", statement, f"tokenizer.json has no token {text!r}"
    else:
        is_what = "no token" if number is None else f"id {number}"
        yield (
            CONFLICT,
            statement,
            f"{text!r} is {is_what} of tokenizer.json, the files say {list(ids)}",
        )


def _stops_too(statement: Statement, ids: tuple[int, ...], compared: Compared) -> bool:
    return any(isinstance(i, str) and compared.vocab.id_of(i) in ids for i in statement.items)


def card_evidence(compared: Compared) -> list[Evidence]:
    """Sampling values and facts, a row for each that the card gives; no run takes one from it."""
    generation, statements = compared.documents.generation, compared.documents.card.statements
    rows = []
    for name in (*sorted(SAMPLING), *FACTS):
        found = [s for s in statements if s.name == name]
        own = generation.get(name) if name in SAMPLING else None
        publisher = [s.declaration for s in found]
        if own is not None:
            publisher.insert(0, Declaration("generation_config.json", f"/{name}", own))
        if found:
            left = name in SAMPLING and own is None
            undefined = "generation_config.json leaves it open" if left else ""
            rows.append(Evidence(name, tuple(publisher), undefined=undefined))
        other = [s for s in found if own is not None and not _same(s, own)]
        if other:
            why = f"generation_config.json says {shown(own)}"
            _report("CARD_SAMPLING", [("", s, why) for s in other], name, compared)
    return rows


def _same(statement: Statement, own: Any) -> bool:
    values = [i for i in statement.items if isinstance(i, (bool, int, float))]
    return not values or all(value == own for value in values)
