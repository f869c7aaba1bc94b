"""Pieces of profile 3: those of SentencePiece models, their scores and kinds."""

from __future__ import annotations

from typing import Any

import numpy as np

from trlm_lab.text.sentencepiece.model_file import (
    BYTE,
    MAX_PIECE_BYTES,
    NORMAL,
    UNKNOWN,
    UNUSED,
    ModelFile,
    Piece,
)
from trlm_lab.text.sentencepiece.reading import BYTE_NAMES
from trlm_lab.text.tok2.piece_stages import PieceNormalizer, PieceSurface
from trlm_lab.text.tok2.read_model import Parameters
from trlm_lab.text.tok2.section import Section

_BYTES = frozenset(BYTE_NAMES)


def read_pieces(
    section: Section, model: Section, texts: dict[str, int], found: Parameters
) -> tuple[Piece, ...]:
    """Section 12, float32 scores and kinds by id; `texts` in the order of their bytes.

    A byte that is missing beside byte fallback is a fault of `model`.
    """
    count = len(texts)
    scores = np.frombuffer(section.view, "<f4", count)
    wrong = np.flatnonzero(~np.isfinite(scores))
    if len(wrong):
        index = int(wrong[0])
        section.fail(4 * index, "a score", str(scores[index]), "a finite number")
    kinds = list(section.view[4 * count :])
    for index, kind in enumerate(kinds):
        if not NORMAL <= kind <= BYTE:
            section.fail(4 * count + index, "a kind", kind, f"{NORMAL} to {BYTE}")
    _require_bytes(model, texts, found)
    for text, number in texts.items():
        if not _fits(text, number, kinds[number], found):
            section.fail(4 * count + number, "a kind", kinds[number], f"another one of {text!r}")
    rows = sorted(texts, key=texts.__getitem__)
    return tuple(map(Piece, rows, scores.tolist(), kinds))


def _fits(text: str, number: int, kind: int, found: Parameters) -> bool:
    """Whether a piece may be of a kind."""
    if not 0 < len(text.encode()) <= MAX_PIECE_BYTES:
        return False
    if "\0" in text and (text != "\0" or kind != UNUSED):
        return False
    is_byte = bool(found.flags & 1) and text in _BYTES
    return (kind == UNKNOWN) == (number == found.unknown_id) and (kind == BYTE) == is_byte


def _require_bytes(section: Section, texts: dict[str, int], found: Parameters) -> None:
    missing = [name for name in BYTE_NAMES if name not in texts]
    if found.flags & 1 and missing:
        section.fail(0, "the piece of a byte", f"no {missing[0]}", "one for each")


def model_file(found: Parameters, pieces: tuple[Piece, ...], stages: dict[str, Any]) -> ModelFile:
    """The record that the tokenizer is built from; names of special pieces are not in it."""
    normalizer: PieceNormalizer = stages["normalizers"][0].stage
    surface: PieceSurface = stages["decoders"][0].stage
    return ModelFile(
        pieces,
        found.kind.partition(" ")[2],
        normalizer.spec,
        surface.denormalizer,
        bool(found.flags & 1),
        normalizer.suffix,
        surface.unknown,
        {},
    )
