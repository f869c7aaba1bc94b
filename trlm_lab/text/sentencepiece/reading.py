"""A model file into a tokenizer, with the checks of the source's own loader.

Source of facts: InitializePieces in model_interface.cc of sentencepiece 0.2.3.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from trlm_lab.errors import TokenizerFieldError, TokenizerVocabularyError
from trlm_lab.text.charsmap import Charsmap, CharsmapError
from trlm_lab.text.clusters import NO_CLUSTERS
from trlm_lab.text.sentencepiece.bpe import BpeModel
from trlm_lab.text.sentencepiece.decoding import PieceDecoder
from trlm_lab.text.sentencepiece.model_file import (
    BYTE,
    NORMAL,
    UNKNOWN,
    UNUSED,
    USER_DEFINED,
    ModelFile,
    NormalizerSpec,
    read_model_file,
)
from trlm_lab.text.sentencepiece.normalizer import Normalizer
from trlm_lab.text.sentencepiece.prefixes import Rules, Symbols
from trlm_lab.text.sentencepiece.segments import PieceModel, Segmenter
from trlm_lab.text.sentencepiece.tokenizer import SentencePieceTokenizer
from trlm_lab.text.sentencepiece.unigram import UnigramModel

_USABLE = (NORMAL, USER_DEFINED, UNUSED)
#: The names of the 256 byte pieces.
BYTE_NAMES = tuple(f"<0x{byte:02X}>" for byte in range(256))


def read_sentencepiece(data: bytes) -> SentencePieceTokenizer:
    """The tokenizer of a `.model` file.

    Raises:
        SentencePieceFileError: the bytes are no protocol buffer.
        SentencePieceFieldError: a field is unknown, ill-typed, repeated or out of its bounds.
        TokenizerKindError: a model type that does not exist.
        TokenizerFieldError: a table of characters that is broken.
        TokenizerVocabularyError: pieces that contradict each other or the switches.
    """
    file = _as_it_counts(read_model_file(data))
    _require_unique(file)
    return tokenizer_of(file)


def tokenizer_of(file: ModelFile, **fields: Any) -> SentencePieceTokenizer:
    """The tokenizer of a record whose pieces are each there once; `fields` are its further ones.

    Raises:
        TokenizerFieldError: a table of characters that is broken.
        TokenizerVocabularyError: byte pieces without byte fallback, or the other way round.
    """
    symbols = Symbols(piece.text for piece in file.pieces if piece.type == USER_DEFINED)
    denormalizer = None
    if file.denormalizer:
        denormalizer = _normalizer(file.denormalizer, "denormalizer_spec", Symbols(()))
    return SentencePieceTokenizer(
        file,
        replace(_normalizer(file.normalizer, "normalizer_spec", symbols), suffix=file.suffix),
        PieceDecoder(file, denormalizer),
        _model(file, symbols),
        _byte_ids(file),
        **fields,
    )


def _as_it_counts(file: ModelFile) -> ModelFile:
    """Without what makes no difference in the source.

    A denormalizer without table does nothing; beside byte pieces, a piece that is the character NUL
    counts as unused.
    """
    if file.denormalizer and not file.denormalizer.charsmap:
        file = replace(file, denormalizer=None)
    if not file.byte_fallback:
        return file
    pieces = [one._replace(type=UNUSED) if one.text == "\0" else one for one in file.pieces]
    return replace(file, pieces=tuple(pieces))


def _require_unique(file: ModelFile) -> None:
    """No piece twice, at most one unknown piece, no NUL inside a piece."""
    owner: dict[tuple[str, bool], int] = {}
    unknown = -1
    for number, (text, _, kind) in enumerate(file.pieces):
        if text == "\0" and kind == UNUSED:
            continue
        # A BPE model has one table of pieces, the others have one for text and one for the rest.
        key = (text, kind in _USABLE or file.kind == "BPE")
        first = owner.setdefault(key, number)
        if first != number or "\0" in text:
            raise _contradiction(number, f"{text!r} is piece {first} already, or has a NUL")
        if kind == UNKNOWN and unknown >= 0:
            raise _contradiction(number, f"piece {unknown} is the unknown one already")
        unknown = number if kind == UNKNOWN else unknown
    if unknown < 0 and not file.byte_fallback:
        raise _contradiction(0, "there is neither an unknown piece nor byte fallback")


def _byte_ids(file: ModelFile) -> tuple[int, ...]:
    """Ids of the 256 bytes; none without byte fallback."""
    ids = {piece.text: n for n, piece in enumerate(file.pieces) if piece.type == BYTE}
    wanted = set(BYTE_NAMES) if file.byte_fallback else set()
    if odd := sorted(wanted ^ set(ids)):
        raise _contradiction(ids.get(odd[0], 0), f"byte pieces and byte_fallback: {odd[0]!r}")
    return tuple(ids[name] for name in BYTE_NAMES) if file.byte_fallback else ()


def _normalizer(spec: NormalizerSpec, where: str, symbols: Symbols) -> Normalizer:
    charsmap = None
    if spec.charsmap:
        try:
            charsmap = Charsmap.of(spec.charsmap, NO_CLUSTERS)
        except CharsmapError as error:
            place = f"{where}.precompiled_charsmap"
            raise TokenizerFieldError(where=place, detail=f"the table: {error}") from error
    return Normalizer(
        Rules(charsmap),
        symbols,
        spec.add_dummy_prefix,
        spec.remove_extra_whitespaces,
        spec.escape_whitespaces,
    )


def _model(file: ModelFile, symbols: Symbols) -> Segmenter:
    if file.kind == "BPE":
        return BpeModel(file.pieces, symbols)
    if file.kind == "UNIGRAM":
        return UnigramModel(file.pieces)
    return PieceModel(file.pieces, symbols, words=file.kind == "WORD")


def _contradiction(number: int, detail: str) -> TokenizerVocabularyError:
    return TokenizerVocabularyError(where=f"pieces[{number}]", detail=detail)
