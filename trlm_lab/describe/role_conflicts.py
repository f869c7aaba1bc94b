"""Special tokens by their roles: every place that declares one must mean the same ids."""

from __future__ import annotations

from typing import Any

from trlm_lab.base.config_bounds import shown
from trlm_lab.describe.card_conflicts import card_role
from trlm_lab.describe.compared import Compared
from trlm_lab.describe.declarations import FURTHER, ROLES, Declared, declared_ids
from trlm_lab.describe.inserted_tokens import inserted_tokens
from trlm_lab.describe.receipt import NOTE, Declaration, Evidence
from trlm_lab.describe.template_turns import behind_answer, rendered_turns
from trlm_lab.describe.vocabulary import is_id


def role_evidence(role: str, compared: Compared) -> tuple[Evidence, tuple[int, ...]]:
    """The evidence of one role, and the ids that are agreed on (empty: none, or a conflict)."""
    field, findings = f"{role}_token_id", compared.findings
    rows = declared_ids(compared.documents, compared.vocab, role)
    publisher = [row.declaration for row in rows]
    ids = tuple(sorted({i for row in rows for i in row.ids or ()}))
    details = _details(role, rows)
    _range(role, rows, compared)
    publisher += _inserted(role, compared)
    details += _inserted_details(role, ids, compared)
    if role == "eos":
        publisher += _template_closings(compared)
        details += _word_details(rows, compared)
        details += _template_details(ids, rows, compared)
        details += _source_details(ids, compared)
    publisher += card_role(role, _declared(compared), compared)
    if details:
        place = publisher[0].place if publisher else "config.json"
        findings.add(f"{role.upper()}_CONFLICT", place, "; ".join(details), field)
    if findings.about(field):
        return Evidence(field, tuple(publisher)), ()
    if not ids:
        if role == "eos":
            detail = "no file declares a stop token, and none is guessed"
            findings.add("EOS_MISSING", f"config.json#/{field}", detail, field)
        return Evidence(field, tuple(publisher), undefined="no file declares it"), ()
    _ordinary(role, ids, compared)
    return Evidence(field, tuple(publisher), chosen=list(ids)), ids


def _declared(compared: Compared) -> dict[str, tuple[int, ...]]:
    roles = (*ROLES, *FURTHER)
    rows = {role: declared_ids(compared.documents, compared.vocab, role) for role in roles}
    return {r: tuple(sorted({i for row in rows[r] for i in row.ids or ()})) for r in roles}


def _details(role: str, rows: list[Declared]) -> list[str]:
    details = [f"{row.declaration.place}: {row.problem}" for row in rows if row.problem]
    if role != "eos":
        several = [row for row in rows if len(row.ids or ()) > 1]
        what = f"a model has one {role} token"
        details += [f"{r.declaration.place} says {shown(r.raw)}, {what}" for r in several]
    lists = {row.ids for row in rows if row.ids is not None and row.whole}
    named = {row.ids for row in rows if row.ids is not None and not row.whole}
    # Files with ids declare the whole set; a tokenizer file can name only one of its members.
    member = all(set(one) <= set(whole) for one in named for whole in lists)
    if len(lists) > 1 or len(named) > 1 or not member:
        said = (f"{r.declaration.place} says {r.raw!r} = {list(r.ids or ())}" for r in rows)
        details.append("; ".join(said))
    return details


def _outside(number: int, compared: Compared) -> bool:
    size: Any = compared.documents.config.get("vocab_size")
    return not is_id(number) or (is_id(size) and number >= size)


def _range(role: str, rows: list[Declared], compared: Compared) -> None:
    size: Any = compared.documents.config.get("vocab_size")
    for row in rows:
        beyond = [i for i in row.ids or () if _outside(i, compared)]
        if beyond:
            detail = f"id {shown(beyond[0])} is outside the vocabulary of {shown(size)}"
            place = row.declaration.place
            compared.findings.add(f"{role.upper()}_RANGE", place, detail, f"{role}_token_id")


def _word_details(rows: list[Declared], compared: Compared) -> list[str]:
    """A stop that is given by its number alone, and is no added token of `tokenizer.json`."""
    if not compared.documents.tokenizer:
        return []
    # The texts of a converted file are made from its ids, and bear witness to none of them.
    converted = "tokenizer.ggml.eos_token_id" in compared.documents.gguf
    witnesses = [] if converted else rows
    named = {i for row in witnesses if isinstance(row.raw, str) for i in row.ids or ()}
    given = {i for row in rows for i in row.ids or ()}
    unknown = given - named - set(compared.vocab.added.values())
    strange = sorted(i for i in unknown if not _outside(i, compared))
    if not strange:
        return []
    texts = [text for text, number in compared.vocab.ids.items() if number == strange[0]]
    what = f"the ordinary token {texts[0]!r}" if texts else "no token"
    return [f"id {shown(strange[0])} is {what} of tokenizer.json, and no file names it as a stop"]


def _inserted(role: str, compared: Compared) -> list[Declaration]:
    """What the post-processor puts where BOS or EOS belongs."""
    insertion = inserted_tokens(compared.documents)
    where = {} if insertion is None else {"bos": insertion.before, "eos": insertion.after}
    numbers = list(where.get(role, ()))
    return [Declaration("tokenizer.json", "/post_processor", numbers)] if numbers else []


def _inserted_details(role: str, ids: tuple[int, ...], compared: Compared) -> list[str]:
    """A post-processor that puts other tokens there."""
    side = "before" if role == "bos" else "behind"
    return [
        f"{row.place} puts {row.value} {side} a text, and none of {list(ids)}"
        for row in _inserted(role, compared)
        if ids and not set(row.value) & set(ids)
    ]


def _template_closings(compared: Compared) -> list[Declaration]:
    template, tokens = compared.templates.run, compared.templates.tokens
    if template is None or tokens is None or not (tokens.closing or tokens.names_eos):
        return []
    ends = sorted(tokens.closing) + (["eos_token"] if tokens.names_eos else [])
    return [Declaration(template.file, template.pointer, ends)]


def _template_details(ids: tuple[int, ...], rows: list[Declared], compared: Compared) -> list[str]:
    """A template that ends the assistant's turns with control tokens, none of which is a stop."""
    template = compared.templates.run
    ends = _endings(ids, rows, compared) if ids else frozenset()
    if template is None or not ends or {compared.vocab.id_of(text) for text in ends} & set(ids):
        return []
    said = ", ".join(sorted(ends))
    return [
        f"{template.place} ends its turns with {said}, and writes no token of {list(ids)} there"
    ]


def _endings(ids: tuple[int, ...], rows: list[Declared], compared: Compared) -> frozenset[str]:
    """The control tokens behind an assistant's content, as rendered; else by order of the words.

    A template that cannot be rendered here, and names the stop, may write it anywhere: it says
    nothing then, as one without control tokens does.
    """
    tokens, vocab = compared.templates.tokens, compared.vocab
    if tokens is None:
        return frozenset()
    known = [text for text, number in vocab.added.items() if number == ids[0]]
    stop = next((row.raw for row in rows if isinstance(row.raw, str)), known[0] if known else None)
    behind = behind_answer(rendered_turns(compared.templates, {"eos": stop} if stop else {}))
    if behind is not None:
        return frozenset(text for text in {*vocab.control_texts, *known} if text in behind)
    if tokens.names_eos or not tokens.closing:
        return frozenset()
    return tokens.closing | (tokens.after - tokens.opening)


def _source_details(ids: tuple[int, ...], compared: Compared) -> list[str]:
    """A framework that would stop at other ids than all files agree on."""
    value = compared.source.get("eos_token_id")
    source = value if isinstance(value, list) else [value]
    if value is None or not ids or set(source) == set(ids):
        return []
    return [f"the source framework stops at {source}, the files say {list(ids)}"]


def _ordinary(role: str, ids: tuple[int, ...], compared: Compared) -> None:
    ordinary = set(ids) - compared.vocab.special
    if role != "unk" and compared.documents.tokenizer and ordinary:
        detail = f"{sorted(ordinary)} are no special tokens of tokenizer.json"
        code, place = f"{role.upper()}_ORDINARY", "tokenizer.json#/added_tokens"
        compared.findings.add(code, place, detail, f"{role}_token_id", NOTE)
