"""Parameters and vocabulary of a TOK2 block under a strict reader."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Any

import numpy as np

from trlm_lab.text.models import Model
from trlm_lab.text.models.bpe import Bpe
from trlm_lab.text.models.merging import Merges
from trlm_lab.text.models.unigram import UNKNOWN_PENALTY, Unigram
from trlm_lab.text.models.words import WordLevel, WordPiece
from trlm_lab.text.scalar_sets import ScalarSet
from trlm_lab.text.tok2.front_coding import CodingError, decoded
from trlm_lab.text.tok2.hashing import (
    Numbers,
    merge_buckets,
    merge_places,
    starts_of,
    token_buckets,
    token_hashes,
    token_places,
)
from trlm_lab.text.tok2.layout import Header
from trlm_lab.text.tok2.numbers import BLOCK, COUNT_LIMIT, MODELS, NONE, PROFILE_OF, SILENT
from trlm_lab.text.tok2.read_pools import first_beyond
from trlm_lab.text.tok2.read_stages import PoolMembers, References
from trlm_lab.text.tok2.section import Section
from trlm_lab.text.tok2.walk import Use

_ROW = struct.Struct("<8IQII")
_FLAGS = {"BPE": 7, "Unigram": 1, "GGUF BPE": 26} | {
    name: 1 for name in MODELS if PROFILE_OF[name] == 3
}
#: Models whose unknown scalars cost a penalty.
_BY_PATHS = ("Unigram", "SentencePiece UNIGRAM")
_PENALTY = struct.unpack("<Q", struct.pack("<d", UNKNOWN_PENALTY))[0]


@dataclass(frozen=True)
class Parameters:
    """The fields of section 7 with their references resolved."""

    kind: str
    flags: int
    unknown: str | None
    prefix: str
    suffix: str
    hidden: ScalarSet
    unknown_id: int | None
    longest: int
    real: int


def read_parameters(
    section: Section, pools: PoolMembers, header: Header
) -> tuple[Parameters, list[Use]]:
    """Section 7."""
    kind = MODELS[header.model_kind - 1]
    number, flags, *texts, hidden, unknown_id, longest, penalty, real, last = _ROW.unpack(
        section.view
    )
    if number != header.model_kind:
        section.fail(0, "the kind", number, header.model_kind)
    if flags & ~_FLAGS.get(kind, 0):
        section.fail(4, "flags", flags, f"within {_FLAGS.get(kind, 0)}")
    references = References(section, pools)
    unknown, prefix, suffix = _texts(references, texts, kind)
    shown = references.take("sets", hidden, 20)
    _unknown_id(section, kind, unknown_id, header.token_count)
    _numbers(section, kind, (longest, penalty, real, last), header.token_count)
    found = Parameters(
        kind, flags, unknown, prefix or "", suffix or "", shown,
        None if unknown_id == NONE else unknown_id, longest, real,
    )  # fmt: skip
    return found, references.uses


def _texts(references: References, texts: list[int], kind: str) -> list[Any]:
    """Unknown token, prefix and suffix, each None where there is none."""
    # Whether one may be there, and whether it may be missing or empty.
    rules = (
        (kind in ("BPE", "WordPiece", "WordLevel"), kind == "BPE", True),
        (kind in ("BPE", "WordPiece"), True, False),
        (kind == "BPE", True, False),
    )
    out: list[Any] = []
    for index, (reference, (allowed, optional, empty)) in enumerate(zip(texts, rules, strict=True)):
        at = 8 + 4 * index
        if reference == NONE and (optional or not allowed):
            out.append(None)
            continue
        if not allowed:
            references.section.fail(at, "a text", reference, "none")
        text = references.take("strings", reference, at)
        if not text and not empty:
            references.section.fail(at, "a text", "empty", "none")
        out.append(text)
    return out


def _unknown_id(section: Section, kind: str, unknown_id: int, tokens: int) -> None:
    pieces = PROFILE_OF[kind] == 3
    known = (pieces or kind in ("Unigram", "GGUF WPM")) and unknown_id < tokens
    fallback = bool(section.u32(4) & 1)
    needed = not fallback if pieces else kind == "GGUF WPM"
    if not known and (unknown_id != NONE or needed):
        section.fail(24, "unknown_id", unknown_id, "a token of a model that has one, or none")


def _numbers(section: Section, kind: str, row: tuple[int, int, int, int], tokens: int) -> None:
    longest, penalty, real, last = row
    if longest >= (COUNT_LIMIT if kind == "WordPiece" else 1):
        section.fail(28, "longest", longest, f"below {COUNT_LIMIT} for WordPiece, else 0")
    wanted = _PENALTY if kind in _BY_PATHS else 0
    if penalty != wanted:
        section.fail(32, "penalty", f"{penalty:#x}", f"{wanted:#x}")
    if kind != "GGUF BPE" and (real or last):
        section.fail(40, "a reserved field", real or last, 0)
    if real > tokens:
        section.fail(40, "real_count", real, f"at most {tokens}")
    if last:
        section.fail(44, "a reserved field", last, 0)


def read_tokens(section: Section, count: int) -> list[bytes]:
    """Section 8."""
    blocks = -(-count // BLOCK)
    first = 4 * (blocks + 1)
    section.need(first, 0, "the blocks")
    starts = section.numbers(0, blocks + 1).tolist()
    data = bytes(section.view[first:])
    if starts[blocks] != len(data):
        section.fail(4 * blocks, "the end of the blocks", starts[blocks], len(data))
    try:
        tokens = decoded(count, starts, data)
    except CodingError as error:
        section.fail(first + error.at, error.field, error.got, error.expected)
    return tokens


def token_texts(section: Section, tokens: list[bytes]) -> list[str]:
    """The tokens as texts."""
    out: list[str] = []
    for position, token in enumerate(tokens):
        try:
            out.append(token.decode())
        except UnicodeDecodeError:
            block = position // BLOCK
            section.fail(4 * block, f"the token at position {position}", "no UTF-8", "UTF-8")
    return out


def read_order(section: Section, tokens: int, id_limit: int) -> Numbers:
    """Section 9: the id at each position (u32, shape (V,))."""
    ids = section.numbers(0, tokens)
    positions = section.numbers(4 * tokens, id_limit)
    beyond = first_beyond(ids, id_limit)
    if beyond is not None:
        section.fail(4 * beyond, "an id", int(ids[beyond]), f"below {id_limit}")
    wanted = np.full(id_limit, NONE, np.uint32)
    wanted[ids] = np.arange(tokens, dtype=np.uint32)
    wrong = np.flatnonzero(positions != wanted)
    if len(wrong):
        index = int(wrong[0])
        got, expected = int(positions[index]), int(wanted[index])
        section.fail(4 * (tokens + index), f"the position of the id {index}", got, expected)
    twice = np.flatnonzero(positions[ids] != np.arange(tokens, dtype=np.uint32))
    if len(twice):
        index = int(twice[0])
        section.fail(4 * index, "an id", int(ids[index]), "another at each position")
    if id_limit and positions[-1] == NONE:
        section.fail(4 * (tokens + id_limit - 1), "the position of the last id", "none", "one")
    return ids


def read_index(section: Section, tokens: list[bytes]) -> None:
    """Section 10, held against the tokens."""
    count, buckets = len(tokens), token_buckets(len(tokens))
    hashes = token_hashes(tokens)
    places = token_places(hashes, buckets)
    order = np.argsort(places, kind="stable")
    _same(section, 0, "a start", section.numbers(0, buckets + 1), starts_of(places, buckets), 4)
    at = 4 * (buckets + 1)
    _same(section, at, "a position", section.numbers(at, count), order, 4)
    at += 4 * count
    tags = np.frombuffer(section.view, np.uint8, count, at)
    _same(section, at, "a tag", tags, hashes[order] & 0xFF, 1)


def _same(section: Section, at: int, field: str, found: Any, wanted: Any, step: int) -> None:
    wrong = np.flatnonzero(found != wanted)
    if len(wrong):
        index = int(wrong[0])
        section.fail(at + step * index, field, int(found[index]), int(wanted[index]))


def read_merges(section: Section, count: int, positions: Numbers) -> Merges:
    """Section 11; `positions` by id say which ids there are."""
    rows = section.numbers(0, 4 * count).reshape(-1, 4)
    for column, field in ((0, "left"), (1, "right"), (3, "made")):
        ids = rows[:, column]
        known = np.zeros(count, bool)
        inside = ids < len(positions)
        known[inside] = positions[ids[inside]] != NONE
        if not known.all():
            index = int(np.flatnonzero(~known)[0])
            section.fail(16 * index + 4 * column, field, int(ids[index]), "an id of a token")
    beyond = first_beyond(rows[:, 2], count)
    if beyond is not None:
        section.fail(16 * beyond + 8, "rank", int(rows[beyond, 2]), f"below {count}")
    buckets = merge_buckets(count)
    places = merge_places(rows[:, 0], rows[:, 1], buckets)
    key = places.astype(np.uint64), rows[:, 0].astype(np.uint64) << 32 | rows[:, 1]
    later = (key[0][1:] > key[0][:-1]) | ((key[0][1:] == key[0][:-1]) & (key[1][1:] > key[1][:-1]))
    if not later.all():
        index = int(np.flatnonzero(~later)[0]) + 1
        section.fail(16 * index, "a pair", rows[index, :2].tolist(), "one behind the row before")
    at = 16 * count
    starts = section.numbers(at, buckets + 1)
    _same(section, at, "a start", starts, starts_of(places, buckets), 4)
    ranked = rows[np.argsort(rows[:, 2], kind="stable")].tolist()
    return {(left, right): (rank, made) for left, right, rank, made in ranked}


def read_scores(section: Section, count: int) -> list[float]:
    """Section 12."""
    scores = np.frombuffer(section.view, "<f8", count)
    wrong = np.flatnonzero(~np.isfinite(scores))
    if len(wrong):
        index = int(wrong[0])
        section.fail(8 * index, "a score", str(scores[index]), "a finite number")
    return [float(score) for score in scores]


def read_kinds(section: Section, count: int, kind: str) -> tuple[list[int], list[int]]:
    """Section 12 of profile 2: how each token is decoded, and its rank among scores, by id."""
    ranked = kind == "GGUF SPM"
    ranks = section.numbers(0, count if ranked else 0)
    distinct = np.unique(ranks)
    wrong = np.flatnonzero(distinct != np.arange(len(distinct), dtype=np.uint32))
    if len(wrong):
        rank = int(distinct[wrong[0]])
        at = 4 * int(np.flatnonzero(ranks == rank)[0])
        section.fail(at, "a rank", rank, f"{int(wrong[0])}, for none is left out")
    first = 4 * len(ranks)
    kinds = list(section.view[first:])
    for index, value in enumerate(kinds):
        if value > SILENT:
            section.fail(first + index, "a kind", value, f"at most {SILENT}")
    return kinds, ranks.tolist()


def built(found: Parameters, ids: dict[str, int], merges: Merges, scores: list[float]) -> Model:
    """The model of profile 1."""
    flags = [bool(found.flags >> bit & 1) for bit in range(3)]
    if found.kind == "BPE":
        return Bpe(
            ids, merges, found.unknown, flags[2], flags[0], flags[1], found.prefix, found.suffix
        )
    if found.kind == "Unigram":
        texts = sorted(ids, key=ids.__getitem__)
        pieces = tuple(zip(texts, scores, strict=True))
        return Unigram(pieces, found.unknown_id, flags[0])
    unknown = found.unknown or ""
    if found.kind == "WordPiece":
        return WordPiece(ids, unknown, found.prefix, found.longest)
    return WordLevel(ids, unknown)
