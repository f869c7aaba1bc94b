"""The profile of a tokenizer: every field of the standard's list, read off its own stages."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from trlm_lab.base import canon
from trlm_lab.base.records.tokenizer_profile import (
    SCHEMA,
    AddedTokenProfile,
    CharacterPolicy,
    Decoding,
    InputPolicy,
    Insertion,
    ModelProfile,
    OffsetPolicy,
    TokenizerProfile,
    WhiteSpaceRow,
)
from trlm_lab.errors import PatternUnsupportedError, UnknownTokenMissingError
from trlm_lab.text import decoders, normalizers, pre_tokenizers
from trlm_lab.text.added_tokens import border_sets
from trlm_lab.text.byte_chars import CHARS
from trlm_lab.text.decoded import MODES
from trlm_lab.text.described import parameters, scalars_sha256, stage_profile, table_sha256
from trlm_lab.text.ggml.compiled import portable
from trlm_lab.text.models.bpe import Bpe
from trlm_lab.text.models.unigram import UNKNOWN_PENALTY, Unigram
from trlm_lab.text.models.words import WordLevel, WordPiece
from trlm_lab.text.post_processors import Template
from trlm_lab.text.scalar_sets import ScalarSet
from trlm_lab.text.tables import ENGINE
from trlm_lab.text.tokenizer import Component, Tokenizer
from trlm_lab.text.utf8 import BOUNDS

#: Versions of the data that the tables of `ENGINE` were read out of: the newest of the scalars that
#: they know, and none that the next version has.
UNICODE = {"properties": "16.0", "lower_case": "17.0", "normalization": "9.0"}
UNITS = ("utf8_byte", "normalized_utf8_byte", "scalar", "utf16")
#: Line ends, every scalar with the property White_Space, and what some engines take for it.
WHITE_SPACE = (
    "\t", "\n", "\v", "\f", "\r", "\r\n", "\x1c", "\x1d", "\x1e", "\x1f", " ", "\x85", "\xa0",
    "\u1680", "\u180e", *map(chr, range(0x2000, 0x200C)), "\u2028", "\u2029", "\u202f", "\u205f",
    "\u2060", "\u3000", "\ufeff",
)  # fmt: skip
#: Of every tokenizer: no source defines what bytes that are no UTF-8 would be.
INPUT = InputPolicy(
    "utf-8", "refused, with the offset of the first invalid byte", "data", BOUNDS.bytes,
    BOUNDS.scalars, byte_api=False, byte_api_reason="the source takes texts only",
)  # fmt: skip

_NOTHING = ScalarSet(())
_ADDED_RULES = {
    "stages": "those not normalized in the given text, then the others in the normalized text",
    "precedence": "leftmost, then longest",
    "one_text": "two tokens that are looked for with one text are refused",
    "overlap": "what begins inside a token that was found is not looked at",
    "single_word": "a match beside a word character is passed over",
    "strip": "white space beside a match belongs to it, but none that another token has",
    "ids": "of the vocabulary, or the next free one above it in order",
}
_MERGING = {
    "merge_order": "lowest rank, then leftmost",
    "waiting_merge": "counts while its two symbols make the same token",
    "duplicate_merges": "refused",
}
_PATHS = {
    "scores": "float64, added from the left",
    "traversal": "starts ascending, at each the lengths ascending",
    "ties": "the path found first stays",
    "unknown_penalty": f"{UNKNOWN_PENALTY} below the lowest score",
    "unknown_neighbours": "one token",
}
_RULES: dict[type, dict[str, str]] = {
    Bpe: _MERGING,
    Unigram: _PATHS,
    WordPiece: {"pieces": "the longest first", "no_piece": "the whole word is unknown"},
    WordLevel: {"pieces": "whole"},
}


def profile_of(
    tokenizer: Tokenizer, *, source: str = ENGINE, unicode: Mapping[str, str] = UNICODE
) -> TokenizerProfile:
    """The profile.

    Args:
        tokenizer: what it is read off.
        source: the library, with version, that the tokenizer follows.
        unicode: versions of that library's character data, by what they are for.
    """
    special = tuple(sorted(tokenizer.special_ids))
    return TokenizerProfile(
        schema=SCHEMA,
        source=source,
        input=INPUT,
        characters=_characters(tokenizer, unicode),
        normalizers=_stages(tokenizer.normalizers),
        pre_tokenizers=_stages(tokenizer.pre_tokenizers),
        model=_model(tokenizer.model),
        added_tokens=tuple(
            AddedTokenProfile(
                one.id, one.content, one.single_word, one.lstrip, one.rstrip, one.normalized,
                one.special,
            )
            for one in tokenizer.added
        ),
        added_rules=_ADDED_RULES,
        added_search=stage_profile(tokenizer.given) if tokenizer.given else None,
        post_processors=_stages(tokenizer.post_processors),
        insertion=insertion_of(tokenizer.post_processors),
        special_ids=special,
        truncation="off",
        padding="off",
        switched_off=tokenizer.notes,
        decoding=Decoding(
            MODES, special, ("visible",), ("visible",),
            "bytes of all tokens joined, then read as UTF-8", _stages(tokenizer.decoders),
        ),
        offsets=OffsetPolicy(
            UNITS, "a scalar of a changed text has the offsets of the first scalar that it is of"
        ),
    )  # fmt: skip


def _stages(components: tuple[Component, ...]) -> tuple[Any, ...]:
    return tuple(stage_profile(_compiled(one.stage)) for one in components)


def _compiled(stage: Any) -> Any:
    """A stage as TOK2 has it, with the sets that it goes by; as it is where TOK2 cannot have it."""
    try:
        return portable(stage)
    except PatternUnsupportedError:
        return stage


def _model(model: Any) -> ModelProfile:
    ids: dict[str, int] = model.ids
    held = parameters(model, without=frozenset({"ids", "hidden"}))
    unknown = getattr(model, "unknown_id", None)
    if unknown is None:
        unknown = ids.get(getattr(model, "unknown", None) or "")
    return ModelProfile(
        type(model).__name__,
        len(ids),
        table_sha256(ids),
        held,
        _RULES.get(type(model), {}),
        unknown,
        bool(getattr(model, "byte_fallback", False)),
    )


def insertion_of(post_processors: tuple[Component, ...]) -> Insertion:
    """The ids that these stages put before and behind a text."""
    before: list[int] = []
    after: list[int] = []
    for one in post_processors:
        if isinstance(one.stage, Template):
            pieces = one.stage.pieces
            at = pieces.index(None) if None in pieces else len(pieces)
            before[:0] = [piece.id for piece in pieces[:at] if piece]
            after += [piece.id for piece in pieces[at:] if piece]
    owner = "post_processor, on request" if before or after else "nobody"
    return Insertion(tuple(before), tuple(after), owner)


def _characters(tokenizer: Tokenizer, unicode: Mapping[str, str]) -> CharacterPolicy:
    stages = [
        one.stage
        for part in (tokenizer.normalizers, tokenizer.pre_tokenizers, tokenizer.decoders)
        for one in part
    ]
    byte_level = any(isinstance(one, _BYTE_LEVEL) for one in stages)
    # What no flag asks for decides nothing; a compiled tokenizer does not even hold it.
    borders = border_sets(tokenizer.added if tokenizer.given is None else (), tokenizer.sets)
    word, space = (scalars_sha256(one or _NOTHING) for one in borders)
    return CharacterPolicy(
        unicode=dict(unicode),
        word_sha256=word,
        space_sha256=space,
        hidden_sha256=scalars_sha256(tokenizer.sets.hidden),
        regex_syntax="Oniguruma's Ruby syntax without anchors, references and empty matches",
        regex_flags="none",
        case_folding=_case_folding(stages),
        byte_characters_sha256=canon.content_id(list(CHARS)) if byte_level else None,
        prefix_space=tuple(rule for one in stages if (rule := _prefix_space(one))),
        white_space=tuple(_between(tokenizer, char) for char in WHITE_SPACE),
    )


_BYTE_LEVEL = (normalizers.Bytes, pre_tokenizers.ByteLevel, decoders.ByteLevel)


def _case_folding(stages: list[Any]) -> str:
    lower = any(
        isinstance(one, normalizers.Lowercase)
        or (isinstance(one, normalizers.Bert) and one.lowercase)
        for one in stages
    )
    return "lower case scalar by scalar, no locale, no final sigma" if lower else "none"


_PREFIXES: dict[type, Callable[[Any], str]] = {
    pre_tokenizers.ByteLevel: lambda one: "space before each piece" if one.prefix_space else "",
    pre_tokenizers.Metaspace: lambda one: f"{one.replacement} {one.prepend_scheme}",
    normalizers.Prepend: lambda one: f"{one.prefix} before each piece",
}


def _prefix_space(stage: Any) -> str:
    rule = _PREFIXES.get(type(stage))
    return rule(stage) if rule else ""


def _between(tokenizer: Tokenizer, char: str) -> WhiteSpaceRow:
    """What is left of one kind of white space when the model gets the text."""
    try:
        found = tokenizer.encode(f"a{char}b", trace=True)
    except UnknownTokenMissingError:
        return WhiteSpaceRow(char, "", None)
    before = [one.pieces for one in found.stages if one.name != "/model"]
    model = next(at for at, one in enumerate(found.stages) if one.name == "/model")
    pieces = tuple(one.text for one in before[model - 1])
    return WhiteSpaceRow(char, found.normalized, pieces)
