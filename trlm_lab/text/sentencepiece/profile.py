"""The profile of a SentencePiece model, read off its file."""

from __future__ import annotations

from trlm_lab.base.records.tokenizer_profile import (
    SCHEMA,
    CharacterPolicy,
    Decoding,
    Insertion,
    ModelProfile,
    OffsetPolicy,
    StageProfile,
    TokenizerProfile,
    WhiteSpaceRow,
)
from trlm_lab.text.decoded import MODES
from trlm_lab.text.described import described, parameters, scalars_sha256, table_sha256
from trlm_lab.text.profile import INPUT, UNITS, WHITE_SPACE
from trlm_lab.text.scalar_sets import ScalarSet
from trlm_lab.text.sentencepiece.normalizer import SPACE
from trlm_lab.text.sentencepiece.tokenizer import SentencePieceTokenizer

SOURCE = "sentencepiece 0.2.3"
_RULES = {
    "UNIGRAM": {
        "scores": "float32, added from the left and moved before they grow",
        "traversal": "starts ascending, at each the lengths ascending",
        "ties": "the path found first stays",
        "unknown_penalty": "10 below the lowest score of a normal piece",
    },
    "BPE": {
        "merge_order": "best score, then leftmost",
        "unused": "a piece that is unused is made, and taken apart again",
    },
    "WORD": {"pieces": "words that begin with the space"},
    "CHAR": {"pieces": "scalars and user-defined symbols"},
}


def sentencepiece_profile(tokenizer: SentencePieceTokenizer) -> TokenizerProfile:
    """The profile; what a model of this kind does not have is said to be none."""
    special = tuple(sorted(tokenizer.special_ids))
    return TokenizerProfile(
        schema=SCHEMA,
        source=SOURCE,
        input=INPUT,
        characters=_characters(tokenizer),
        normalizers=(_normalizer(tokenizer),),
        pre_tokenizers=(),
        model=_model(tokenizer),
        added_tokens=(),
        added_rules={"user_defined": "kept by the normalizer, the longest first, and never cut"},
        added_search=None,
        post_processors=(),
        insertion=Insertion((), (), "nobody"),
        special_ids=special,
        truncation="off",
        padding="off",
        switched_off=tokenizer.notes,
        decoding=Decoding(
            MODES,
            special,
            ("visible",),
            ("visible",),
            "byte pieces that follow one another joined, then read as UTF-8",
            (_decoder(tokenizer),),
        ),
        offsets=OffsetPolicy(UNITS, "a scalar of a rule's text has the offsets of the whole rule"),
    )


def _normalizer(tokenizer: SentencePieceTokenizer) -> StageProfile:
    held = parameters(tokenizer.file.normalizer) | {"suffix": tokenizer.file.suffix}
    return StageProfile("SentencePieceNormalizer", held)


def _decoder(tokenizer: SentencePieceTokenizer) -> StageProfile:
    file = tokenizer.file
    held = {"unknown_surface": file.unknown_surface, "denormalizer": described(file.denormalizer)}
    return StageProfile("PieceDecoder", held)


def _model(tokenizer: SentencePieceTokenizer) -> ModelProfile:
    """The pieces are rows of text, score and type, their order being their ids."""
    file = tokenizer.file
    unknown = tokenizer.unknown_id
    return ModelProfile(
        f"SentencePiece {file.kind}",
        len(file.pieces),
        table_sha256(file.pieces),
        {},
        _RULES[file.kind],
        unknown if unknown >= 0 else None,
        file.byte_fallback,
    )


def _characters(tokenizer: SentencePieceTokenizer) -> CharacterPolicy:
    spec = tokenizer.file.normalizer
    none = scalars_sha256(ScalarSet(()))
    return CharacterPolicy(
        unicode={"normalization": "the table of the model"},
        word_sha256=none,
        space_sha256=none,
        hidden_sha256=scalars_sha256(tokenizer.hidden),
        regex_syntax="none",
        regex_flags="none",
        case_folding="by the table of the model",
        byte_characters_sha256=None,
        prefix_space=(f"{SPACE} once, before the text",) if spec.add_dummy_prefix else (),
        white_space=tuple(_between(tokenizer, char) for char in WHITE_SPACE),
    )


def _between(tokenizer: SentencePieceTokenizer, char: str) -> WhiteSpaceRow:
    normalized = tokenizer.normalizer.apply(f"a{char}b").text
    return WhiteSpaceRow(char, normalized, (normalized,))
