"""The stages around the model in `tokenizer.json`: known kinds, and ids of the vocabulary."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from trlm_lab.base.config_bounds import shown
from trlm_lab.describe.vocabulary import Vocabulary

_DEEPEST = 8
_KINDS: dict[str, frozenset[str]] = {
    "normalizer": frozenset({
        "Sequence", "NFC", "NFD", "NFKC", "NFKD", "Lowercase", "Strip", "StripAccents", "Nmt",
        "BertNormalizer", "Precompiled", "Replace", "Prepend", "ByteLevel",
    }),
    "pre_tokenizer": frozenset({
        "Sequence", "BertPreTokenizer", "ByteLevel", "Delimiter", "Metaspace", "Whitespace",
        "WhitespaceSplit", "Punctuation", "Split", "Digits", "UnicodeScripts", "FixedLength",
        "CharDelimiterSplit",
    }),
    "post_processor": frozenset({
        "Sequence", "RobertaProcessing", "BertProcessing", "ByteLevel", "TemplateProcessing",
    }),
    "decoder": frozenset({
        "Sequence", "BPEDecoder", "ByteLevel", "WordPiece", "Metaspace", "CTC", "Replace", "Fuse",
        "Strip", "ByteFallback",
    }),
}  # fmt: skip
_MEMBERS = {
    "normalizer": "normalizers",
    "pre_tokenizer": "pretokenizers",
    "post_processor": "processors",
    "decoder": "decoders",
}

Row = tuple[str, str, str]


def stage_problems(row: dict[str, Any], vocab: Vocabulary) -> list[Row]:
    """Code, pointer and detail of every broken rule of the four stages; null is no stage."""
    rows: list[Row] = []
    for stage in _KINDS:
        for place, part in _parts(stage, row.get(stage), f"/{stage}", 0):
            kind = part.get("type") if isinstance(part, dict) else None
            if not isinstance(kind, str) or kind not in _KINDS[stage]:
                rows.append(("TOKENIZER_STAGE", place, f"the {stage} {shown(kind)} is not known"))
            elif kind == "Sequence" and not isinstance(part.get(_MEMBERS[stage]), list):
                rows.append(("TOKENIZER_INCOMPLETE", place, f"{_MEMBERS[stage]} is no list"))
            elif kind == "Precompiled" and not isinstance(part.get("precompiled_charsmap"), str):
                rows.append(("TOKENIZER_INCOMPLETE", place, "the table of characters is missing"))
            elif kind == "TemplateProcessing":
                rows += _inserted(part, place, vocab)
            elif kind in ("BertProcessing", "RobertaProcessing"):
                rows += _around(part, place, vocab)
    return rows


def _parts(stage: str, part: Any, place: str, depth: int) -> Iterator[tuple[str, Any]]:
    if part is None:
        return
    yield place, part
    members = part.get(_MEMBERS[stage]) if isinstance(part, dict) else None
    if part_is_sequence(part) and isinstance(members, list) and depth < _DEEPEST:
        for index, member in enumerate(members):
            yield from _parts(stage, member or {}, f"{place}/{index}", depth + 1)


def part_is_sequence(part: Any) -> bool:
    """Whether a stage is a list of stages."""
    return isinstance(part, dict) and part.get("type") == "Sequence"


def _inserted(part: dict[str, Any], place: str, vocab: Vocabulary) -> list[Row]:
    """Tokens that the post-processor inserts must have the ids that the vocabulary gives them."""
    tokens = part.get("special_tokens")
    rows: list[Row] = []
    for name, token in (tokens if isinstance(tokens, dict) else {}).items():
        ids = token.get("ids") if isinstance(token, dict) else None
        texts = token.get("tokens") if isinstance(token, dict) else None
        listed = texts if isinstance(texts, list) else []
        wanted = [vocab.id_of(t) if isinstance(t, str) else None for t in listed]
        if not isinstance(ids, list) or not ids or ids != wanted:
            detail = f"{name!r} inserts {shown(ids)}, the vocabulary gives {wanted[:8]}"
            rows.append(("ADDED_TOKEN_ID", f"{place}/special_tokens", detail))
    return rows


def _around(part: dict[str, Any], place: str, vocab: Vocabulary) -> list[Row]:
    """The two tokens around a text, each given by its text and its id."""
    rows: list[Row] = []
    for key in ("cls", "sep"):
        pair = part.get(key)
        text = pair[0] if isinstance(pair, list) and len(pair) == 2 else None
        wanted = vocab.id_of(text) if isinstance(text, str) else None
        if wanted is None or pair != [text, wanted]:
            detail = f"{key} inserts {shown(pair)}, the vocabulary gives {wanted}"
            rows.append(("ADDED_TOKEN_ID", f"{place}/{key}", detail))
    return rows
