"""The model of a tokenizer: its parameters, and the vocabulary in the forms that lookups need."""

from __future__ import annotations

import struct
from dataclasses import dataclass

import numpy as np

from trlm_lab.errors import Tok2CompileError
from trlm_lab.text.ggml.decoding import Pieces
from trlm_lab.text.ggml.models import GgmlBpe, GgmlSpm, GgmlWordPiece
from trlm_lab.text.models import Model
from trlm_lab.text.models.bpe import Bpe
from trlm_lab.text.models.merging import Merges
from trlm_lab.text.models.unigram import UNKNOWN_PENALTY, Unigram
from trlm_lab.text.models.words import WordLevel, WordPiece
from trlm_lab.text.sentencepiece.model_file import ModelFile
from trlm_lab.text.tok2.front_coding import coded
from trlm_lab.text.tok2.hashing import (
    Numbers,
    merge_buckets,
    merge_places,
    starts_of,
    token_buckets,
    token_hashes,
    token_places,
)
from trlm_lab.text.tok2.numbers import (
    AS_TEXT,
    BYTE,
    BYTE_NAME,
    COUNT_LIMIT,
    MAX_IDS,
    MAX_MERGES,
    MAX_TOKEN_BYTES,
    MAX_TOKENS,
    MAX_VOCABULARY_BYTES,
    MODELS,
    NONE,
    PLAIN,
    SILENT,
)
from trlm_lab.text.tok2.piece_parts import Compilable, texts_of, unknown_id
from trlm_lab.text.tok2.pools import Pools, require, utf8


@dataclass(frozen=True)
class Vocabulary:
    """Tokens in ascending order of their bytes, the id of each (u32, shape (V,)), and the rest."""

    tokens: list[bytes]
    ids: Numbers
    id_limit: int
    merges: Merges
    scores: bytes
    ranked: bool

    @classmethod
    def of(cls, tokenizer: Compilable) -> Vocabulary:
        """Of any model.

        Raises:
            Tok2CompileError: too many tokens, too large ids, too long tokens, two of one text.
        """
        model = tokenizer.model
        texts = _texts(model)
        id_limit = max(texts.values(), default=-1) + 1
        require(len(texts), MAX_TOKENS, "the number of tokens")
        require(id_limit, MAX_IDS, "the largest id and 1")
        rows = sorted((utf8(text, "a token"), number) for text, number in texts.items())
        require(max((len(data) for data, _ in rows), default=0), MAX_TOKEN_BYTES, "a token")
        require(sum(len(data) for data, _ in rows), MAX_VOCABULARY_BYTES, "all tokens together")
        merges = model.merges if isinstance(model, Bpe | GgmlBpe) else {}
        require(len(merges), MAX_MERGES, "the number of merges")
        highest = max((rank for rank, _ in merges.values()), default=-1)
        require(highest + 1, len(merges), "the highest rank and 1")
        scores = _scores(model, texts, tokenizer)
        ids = np.array([number for _, number in rows], np.uint32)
        tokens = [data for data, _ in rows]
        return cls(tokens, ids, id_limit, merges, scores, isinstance(model, Bpe | GgmlBpe))

    def sections(self) -> dict[str, bytes]:
        """Sections 8 to 12."""
        starts, blocks = coded(self.tokens)
        return {
            "tokens": _raw(starts) + blocks,
            "order": self._order(),
            "index": self._index(),
            "merges": self._merges() if self.ranked else b"",
            "scores": self.scores,
        }

    def _order(self) -> bytes:
        positions = np.full(self.id_limit, NONE, np.uint32)
        positions[self.ids] = np.arange(len(self.ids), dtype=np.uint32)
        return _raw(self.ids) + _raw(positions)

    def _index(self) -> bytes:
        hashes = token_hashes(self.tokens)
        buckets = token_buckets(len(self.tokens))
        places = token_places(hashes, buckets)
        order = np.argsort(places, kind="stable")
        tags = (hashes[order] & 0xFF).astype(np.uint8)
        positions = order.astype(np.uint32)
        return _raw(starts_of(places, buckets)) + _raw(positions) + tags.tobytes()

    def _merges(self) -> bytes:
        rows = np.array([(*pair, *made) for pair, made in self.merges.items()], np.uint32).reshape(
            -1, 4
        )
        buckets = merge_buckets(len(rows))
        places = merge_places(rows[:, 0], rows[:, 1], buckets)
        order = np.lexsort((rows[:, 1], rows[:, 0], places))
        return _raw(rows[order]) + _raw(starts_of(places, buckets))


def _texts(model: Model | ModelFile) -> dict[str, int]:
    """Ids by text, of texts that are no tokens too."""
    if isinstance(model, GgmlBpe):
        return model.numbers
    return texts_of(model) if isinstance(model, ModelFile) else model.ids


def _scores(model: Model | ModelFile, texts: dict[str, int], tokenizer: Compilable) -> bytes:
    """Section 12: scores, or how each token is decoded, after its rank among scores."""
    if isinstance(model, ModelFile):
        scores = struct.pack(f"<{len(model.pieces)}f", *(piece.score for piece in model.pieces))
        return scores + bytes(piece.type for piece in model.pieces)
    if isinstance(model, Unigram):
        return struct.pack(f"<{len(model.pieces)}d", *(score for _, score in model.pieces))
    if tokenizer.given is None:
        return b""
    pieces = [one.stage for one in tokenizer.decoders if isinstance(one.stage, Pieces)]
    if len(pieces) != 1:
        raise Tok2CompileError(what="stages of pieces", got=len(pieces), limit="one")
    known = model.ids
    rows = sorted(texts, key=texts.__getitem__)
    kinds = bytes(_kind(text, pieces[0]) if text in known else AS_TEXT for text in rows)
    ranks = [model.ranks[text] for text in rows] if isinstance(model, GgmlSpm) else []
    return struct.pack(f"<{len(ranks)}I", *ranks) + kinds


def _kind(text: str, pieces: Pieces) -> int:
    if text in pieces.silent:
        return SILENT
    if text not in pieces.byte:
        return PLAIN if text in pieces.plain else AS_TEXT
    if not BYTE_NAME.fullmatch(text):
        raise Tok2CompileError(what="a token of a byte", got=repr(text), limit="<0x00> to <0xFF>")
    return BYTE


def _raw(values: Numbers) -> bytes:
    return np.ascontiguousarray(values, "<u4").tobytes()


def model_bytes(tokenizer: Compilable, pools: Pools) -> bytes:
    """Section 7."""
    kind = MODELS.index(tokenizer.model_kind) + 1
    flags, unknown, prefix, suffix, unknown_id, longest = _parameters(tokenizer.model)
    by_paths = tokenizer.model_kind in ("Unigram", "SentencePiece UNIGRAM")
    penalty = UNKNOWN_PENALTY if by_paths else 0.0
    texts = [
        NONE if text is None else pools.string(text)
        for text in (unknown, prefix or None, suffix or None)
    ]
    hidden = pools.scalars(tokenizer.sets.hidden)
    real = len(tokenizer.model.ids) if isinstance(tokenizer.model, GgmlBpe) else 0
    return struct.pack(
        "<8IdI4x", kind, flags, *texts, hidden, NONE if unknown_id is None else unknown_id,
        longest, penalty, real,
    )  # fmt: skip


def _parameters(model: Model | ModelFile) -> tuple[int, str | None, str, str, int | None, int]:
    """Flags, unknown token, prefix, suffix, unknown id, longest word."""
    match model:
        case ModelFile():
            return int(model.byte_fallback), None, "", "", unknown_id(model), 0
        case Bpe():
            flags = model.byte_fallback | model.ignore_merges << 1 | model.fuse_unknown << 2
            return flags, model.unknown, model.prefix, model.suffix, None, 0
        case Unigram():
            return int(model.byte_fallback), None, "", "", model.unknown_id, 0
        case WordPiece():
            require(model.longest, COUNT_LIMIT - 1, "the length of a word")
            return 0, model.unknown, model.prefix, "", None, model.longest
        case WordLevel():
            return 0, model.unknown, "", "", None, 0
        case GgmlBpe():
            flags = model.ignore_merges << 1 | model.raw << 3 | model.line_words << 4
            return flags, None, "", "", None, 0
        case GgmlSpm():
            return 0, None, "", "", None, 0
        case GgmlWordPiece():
            return 0, None, "", "", model.unknown, 0
    known = ", ".join(MODELS)
    raise Tok2CompileError(what="the model", got=type(model).__name__, limit=known)
