"""The model of a tokenizer: its parameters, and the vocabulary in the forms that lookups need."""

from __future__ import annotations

import struct
from dataclasses import dataclass

import numpy as np

from trlm_lab.errors import Tok2CompileError
from trlm_lab.text.models import Model
from trlm_lab.text.models.bpe import Bpe
from trlm_lab.text.models.merging import Merges
from trlm_lab.text.models.unigram import UNKNOWN_PENALTY, Unigram
from trlm_lab.text.models.words import WordLevel, WordPiece
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
    COUNT_LIMIT,
    MAX_IDS,
    MAX_MERGES,
    MAX_TOKEN_BYTES,
    MAX_TOKENS,
    MAX_VOCABULARY_BYTES,
    MODELS,
    NONE,
)
from trlm_lab.text.tok2.pools import Pools, require, utf8
from trlm_lab.text.tokenizer import Tokenizer


@dataclass(frozen=True)
class Vocabulary:
    """Tokens in ascending order of their bytes, the id of each (u32, shape (V,)), and the rest."""

    tokens: list[bytes]
    ids: Numbers
    id_limit: int
    merges: Merges
    scores: tuple[float, ...]
    ranked: bool

    @classmethod
    def of(cls, model: Model) -> Vocabulary:
        """Of any model.

        Raises:
            Tok2CompileError: too many tokens, too large ids, too long tokens.
        """
        texts: dict[str, int] = model.ids
        id_limit = max(texts.values(), default=-1) + 1
        require(len(texts), MAX_TOKENS, "the number of tokens")
        require(id_limit, MAX_IDS, "the largest id and 1")
        rows = sorted((utf8(text, "a token"), number) for text, number in texts.items())
        require(max((len(data) for data, _ in rows), default=0), MAX_TOKEN_BYTES, "a token")
        require(sum(len(data) for data, _ in rows), MAX_VOCABULARY_BYTES, "all tokens together")
        merges = model.merges if isinstance(model, Bpe) else {}
        require(len(merges), MAX_MERGES, "the number of merges")
        highest = max((rank for rank, _ in merges.values()), default=-1)
        require(highest + 1, len(merges), "the highest rank and 1")
        scores = tuple(s for _, s in model.pieces) if isinstance(model, Unigram) else ()
        ids = np.array([number for _, number in rows], np.uint32)
        tokens = [data for data, _ in rows]
        return cls(tokens, ids, id_limit, merges, scores, isinstance(model, Bpe))

    def sections(self) -> dict[str, bytes]:
        """Sections 8 to 12."""
        starts, blocks = coded(self.tokens)
        return {
            "tokens": _raw(starts) + blocks,
            "order": self._order(),
            "index": self._index(),
            "merges": self._merges() if self.ranked else b"",
            "scores": struct.pack(f"<{len(self.scores)}d", *self.scores),
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


def _raw(values: Numbers) -> bytes:
    return np.ascontiguousarray(values, "<u4").tobytes()


def model_bytes(tokenizer: Tokenizer, pools: Pools) -> bytes:
    """Section 7."""
    kind = MODELS.index(tokenizer.model_kind) + 1
    flags, unknown, prefix, suffix, unknown_id, longest = _parameters(tokenizer.model)
    penalty = UNKNOWN_PENALTY if isinstance(tokenizer.model, Unigram) else 0.0
    texts = [
        NONE if text is None else pools.string(text)
        for text in (unknown, prefix or None, suffix or None)
    ]
    hidden = pools.scalars(tokenizer.sets.hidden)
    return struct.pack(
        "<8Id8x", kind, flags, *texts, hidden, NONE if unknown_id is None else unknown_id,
        longest, penalty,
    )  # fmt: skip


def _parameters(model: Model) -> tuple[int, str | None, str, str, int | None, int]:
    """Flags, unknown token, prefix, suffix, unknown id, longest word."""
    match model:
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
    known = ", ".join(MODELS)
    raise Tok2CompileError(what="the model", got=type(model).__name__, limit=known)
