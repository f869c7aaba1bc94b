"""Tokens that the files beside `tokenizer.json` name: each must be an added token there.

Source: the tokenizer loader of the transformers library, version 5. It adds every token that these
places name as a special one: under a new id where the vocabulary lacks it, and where it is an
ordinary token, every text is cut at it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from trlm_lab.base.config_bounds import shown
from trlm_lab.describe.compared import Compared
from trlm_lab.describe.declarations import FURTHER, ROLES
from trlm_lab.describe.receipt import Declaration, Evidence

_FIELD = "special_tokens"
_LISTS = ("additional_special_tokens", "extra_special_tokens", "model_specific_special_tokens")
_MOST_NAMED = 20
_ROLE_KEYS = {f"{role}_token" for role in (*ROLES, *FURTHER)}


def special_token_evidence(compared: Compared) -> list[Evidence]:
    """A row of all named tokens that are no role, if there are any; findings about every one."""
    publisher = []
    documents = compared.documents
    for file, row in (
        ("tokenizer_config.json", documents.tokenizer_config),
        ("special_tokens_map.json", documents.special_map),
    ):
        for key, raw in row.items():
            named = list(_named(key, raw))
            if named and key not in _ROLE_KEYS:
                publisher.append(Declaration(file, f"/{_escaped(key)}", raw))
            for pointer, value in named if documents.tokenizer else ():
                _judge(Declaration(file, pointer, value), compared)
    if not publisher and not compared.findings.about(_FIELD):
        return []
    return [Evidence(_FIELD, tuple(publisher))]


def _named(key: str, raw: Any) -> Iterator[tuple[str, Any]]:
    """Pointers and values of the tokens under a key; `add_bos_token` names none."""
    if key in _LISTS:
        if isinstance(raw, Mapping):
            yield from ((f"/{key}/{_escaped(str(name))}", value) for name, value in raw.items())
        elif isinstance(raw, list):
            yield from ((f"/{key}/{index}", value) for index, value in enumerate(raw))
        elif raw is not None:
            yield f"/{key}", raw
    elif key.endswith("_token") and _text(raw) is not None:
        yield f"/{_escaped(key)}", raw


def _judge(declared: Declaration, compared: Compared) -> None:
    vocab, text = compared.vocab, _text(declared.value)
    named = sum(finding.field == _FIELD for finding in compared.findings.rows)
    if text in vocab.added or named == _MOST_NAMED:
        return
    number = None if text is None else vocab.id_of(text)
    if text is None:
        detail = f"{shown(declared.value)} is no token"
    elif number is None:
        detail = f"tokenizer.json has no token {shown(text)}, the source's loader gives it a new id"
    else:
        what = f"{shown(text)} is the ordinary token {number} of tokenizer.json"
        detail = f"{what}, the source's loader cuts every text at it"
    compared.findings.add("SPECIAL_TOKEN_ADDED", declared.place, detail, _FIELD)


def _text(raw: Any) -> str | None:
    text = raw.get("content") if isinstance(raw, Mapping) else raw
    return text if isinstance(text, str) else None


def _escaped(name: str) -> str:
    return name.replace("~", "~0").replace("/", "~1")
