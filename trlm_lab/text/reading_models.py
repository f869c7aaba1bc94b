"""The model of tokenizer.json, strictly."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

from trlm_lab.errors import MergeDuplicateError, TokenizerKindError, TokenizerVocabularyError
from trlm_lab.text.fields import Fields, shown
from trlm_lab.text.models import Model
from trlm_lab.text.models.bpe import Bpe
from trlm_lab.text.models.merging import Merges
from trlm_lab.text.models.unigram import Unigram
from trlm_lab.text.models.words import WordLevel, WordPiece


def read_model(row: Fields) -> tuple[Model, str]:
    """The model and its kind."""
    kind = row.text("type")
    if kind not in _READERS:
        known = ", ".join(_READERS)
        place = f"{row.pointer}/type"
        raise TokenizerKindError(where=place, stage="model", kind=shown(kind), known=known)
    model = _READERS[kind](row)
    row.done()
    return model, kind


def _vocabulary(row: Fields) -> dict[str, int]:
    vocab = row.table("vocab")
    for text, number in vocab.items():
        whole = isinstance(number, int) and not isinstance(number, bool)
        if not whole or not 0 <= number < 1 << 31:
            raise row.fault("vocab", f"the token {shown(text)} has the id {shown(number)}")
    if len(set(vocab.values())) != len(vocab):
        owner: dict[int, str] = {}
        first, second = next(
            (owner[n], text) for text, n in vocab.items() if owner.setdefault(n, text) != text
        )
        detail = f"{shown(first)} and {shown(second)} share the id {vocab[first]}"
        raise TokenizerVocabularyError(where=f"{row.pointer}/vocab", detail=detail)
    return dict(vocab)


def _bpe(row: Fields) -> Model:
    vocab = _vocabulary(row)
    dropout = row.take("dropout", None)
    if dropout is not None and not (isinstance(dropout, float | int) and dropout == 0):
        raise row.fault("dropout", f"dropout {shown(dropout)} makes ids random")
    prefix = row.optional_text("continuing_subword_prefix") or ""
    suffix = row.optional_text("end_of_word_suffix") or ""
    byte_fallback = row.flag("byte_fallback", False)
    if byte_fallback and (prefix or suffix):
        # The source gives the bytes of the affix too, and offsets beyond the end of the text.
        raise row.fault("byte_fallback", "bytes of an affix are in no place of the text")
    return Bpe(
        vocab,
        _merges(row, vocab, prefix),
        row.optional_text("unk_token"),
        row.flag("fuse_unk", False),
        byte_fallback,
        row.flag("ignore_merges", False),
        prefix,
        suffix,
    )


def _merges(row: Fields, vocab: dict[str, int], prefix: str) -> Merges:
    merges: Merges = {}
    for rank, (left, right) in enumerate(_pairs(row)):
        place = f"{row.pointer}/merges/{rank}"
        made = left + right[len(prefix) :]
        for token in (left, right, made):
            if token not in vocab:
                detail = f"{shown(token)} is no token of the vocabulary"
                raise TokenizerVocabularyError(where=place, detail=detail)
        pair = (vocab[left], vocab[right])
        if pair in merges:
            shown_pair = f"{left!r} {right!r}"
            raise MergeDuplicateError(where=place, merge=shown_pair, first=merges[pair][0])
        merges[pair] = (rank, vocab[made])
    return merges


def _pairs(row: Fields) -> Iterator[tuple[str, str]]:
    rows = row.rows("merges")
    form = type(rows[0]) if rows else list
    for rank, merge in enumerate(rows):
        parts = merge.split(" ") if isinstance(merge, str) else merge
        good = isinstance(parts, list) and len(parts) == 2 and type(merge) is form
        if not good or not all(isinstance(part, str) for part in parts):
            raise row.fault("merges", f"merge {rank}, {shown(merge)}, is no pair of texts")
        yield parts[0], parts[1]


def _unigram(row: Fields) -> Model:
    pieces: list[tuple[str, float]] = []
    seen: set[str] = set()
    for index, piece in enumerate(row.rows("vocab")):
        good = isinstance(piece, list) and len(piece) == 2 and isinstance(piece[0], str)
        score = piece[1] if good else None
        number = isinstance(score, int | float) and not isinstance(score, bool)
        if score is None or not number or not math.isfinite(score):
            raise row.fault("vocab", f"piece {index}, {shown(piece)}, is no text with a score")
        if piece[0] in seen:
            detail = f"the piece {shown(piece[0])} occurs twice"
            raise TokenizerVocabularyError(where=f"{row.pointer}/vocab/{index}", detail=detail)
        seen.add(piece[0])
        pieces.append((piece[0], float(score)))
    unknown = row.take("unk_id", None)
    if unknown is not None and row.count("unk_id") >= len(pieces):
        raise row.fault("unk_id", f"{shown(unknown)} is no piece")
    return Unigram(tuple(pieces), unknown, row.flag("byte_fallback", False))


def _word_piece(row: Fields) -> Model:
    return WordPiece(
        _vocabulary(row),
        row.text("unk_token"),
        row.text("continuing_subword_prefix"),
        row.count("max_input_chars_per_word"),
    )


def _word_level(row: Fields) -> Model:
    return WordLevel(_vocabulary(row), row.text("unk_token"))


_READERS: dict[str, Callable[[Fields], Model]] = {
    "BPE": _bpe,
    "Unigram": _unigram,
    "WordPiece": _word_piece,
    "WordLevel": _word_level,
}
