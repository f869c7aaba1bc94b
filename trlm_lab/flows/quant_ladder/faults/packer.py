"""Faults of the packer: from the source's words to the codes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trlm_lab.flows.quant_ladder import production
from trlm_lab.flows.quant_ladder.faults.fault import LadderFault, with_scales, writing
from trlm_lab.flows.quant_ladder.route import Span, heads, read_words, semantic_rows
from trlm_lab.flows.quant_ladder.subject import LadderSubject
from trlm_lab.pack.source import widened
from trlm_lab.rungs import Storage, scale_values

Array = NDArray[Any]


def _shifted(subject: LadderSubject, span: Span) -> Array:
    return np.roll(read_words(subject, span), 1, axis=-1)


def _read_as(dtype: str) -> Callable[[LadderSubject, Span, Array], Array]:
    """Two-byte words taken for those of another float."""

    def semantic(subject: LadderSubject, span: Span, words: Array) -> Array:
        raw = np.ascontiguousarray(words).view("<u2")
        other = _source_as(subject, dtype)
        rows = semantic_rows(other, span, raw if dtype == "BF16" else raw.view("<f2"))
        # No packer would go on with what is not finite.
        return np.where(np.isfinite(rows), rows, np.float32(0))

    return semantic


def _source_as(subject: LadderSubject, dtype: str) -> LadderSubject:
    """The subject with words of another element type in its source."""
    stored = subject.part.stored
    info = replace(stored.info, dtype=dtype)
    return replace(subject, part=replace(subject.part, stored=replace(stored, info=info)))


def _source_is(dtype: str) -> Callable[[LadderSubject, Span], str | None]:
    def refused(subject: LadderSubject, span: Span) -> str | None:
        got = subject.part.stored.info.dtype
        return None if got == dtype else f"the source is {got}"

    return refused


def _not_permuted(subject: LadderSubject, span: Span, words: Array) -> Array:
    low = heads(subject, span)[0]
    plain = replace(subject, stored=replace(subject.stored, rotary=0))
    return semantic_rows(plain, span, words)[span[0] - low : span[1] - low]


def _rotary(subject: LadderSubject, span: Span) -> str | None:
    """A row that stands where it stood shows nothing."""
    if not subject.stored.rotary:
        return "no step permutes its rows"
    same = span[1] - span[0] == 1 and span[0] % subject.stored.rotary in (
        0,
        subject.stored.rotary - 1,
    )
    return "the row keeps its place" if same else None


def _not_transposed(subject: LadderSubject, span: Span, words: Array) -> Array:
    part = subject.part
    whole = part.stored_elements(0, int(np.prod(part.stored.info.shape)))
    rows = widened(whole.reshape(part.stored.info.shape), part.stored.info.dtype)
    return np.ascontiguousarray(rows[span[0] : span[1], : subject.cols])


def _square(subject: LadderSubject, span: Span) -> str | None:
    if not subject.part.transposed:
        return "no step transposes it"
    rows, cols = subject.part.stored.info.shape
    return None if rows == cols else "it is not square"


def _through_f16(subject: LadderSubject, span: Span, words: Array) -> Array:
    rows = semantic_rows(subject, span, words)
    return rows.astype(np.float16).astype(np.float32)


def _not_f16(subject: LadderSubject, span: Span) -> str | None:
    rows = semantic_rows(subject, span, read_words(subject, span))
    same = np.array_equal(rows.astype(np.float16).astype(np.float32), rows)
    return "every weight is a float16" if same else None


def _other_scales(subject: LadderSubject, rows: Array) -> Array:
    """Words of an encoding that is not the declared one, in its place."""
    storage = subject.stored.storage
    other = {"fp16": "bf16", "bf16": "fp16", "e8m0": "bf16", "f32": "fp16"}[storage.scales]
    plain = replace(storage, scales=other) if storage.scales != "f32" else storage
    words = production.scale_words(_stored_as(subject, plain), rows)
    if storage.scales == "e8m0":
        return words >> 7
    if storage.scales == "f32":
        halves = words.astype(np.uint32).view(np.float32).astype(np.float16)
        return halves.astype(np.float32).view(np.uint32).astype(np.int64)
    return words


def _stored_as(subject: LadderSubject, storage: Storage) -> LadderSubject:
    return replace(subject, stored=replace(subject.stored, storage=storage))


def _truncated(subject: LadderSubject, rows: Array) -> Array:
    """One step below the word wherever that is not the sound one by luck."""
    words = production.scale_words(subject, rows)
    return np.where(words > 1, words - 1, words)


def _next_group(subject: LadderSubject, rows: Array) -> Array:
    words = production.scale_words(subject, rows)
    return np.roll(words.reshape(-1), 1).reshape(words.shape)


def _one_scale(subject: LadderSubject, span: Span) -> str | None:
    if subject.stored.storage.dense:
        return "it has no scales"
    words = production.scale_words(subject, semantic_rows(subject, span, read_words(subject, span)))
    return "all its scales are equal" if len(np.unique(words)) == 1 else None


def _ratios(subject: LadderSubject, rows: Array, words: Array) -> Array:
    """float32 quotients, zero where the scale is."""
    storage = subject.stored.storage
    scales = scale_values(words, storage.scales).astype(np.float32)
    spread = np.repeat(scales, storage.group, axis=1)[:, : rows.shape[1]]
    return np.divide(rows, spread, out=np.zeros_like(rows), where=spread != 0)


def _away(subject: LadderSubject, rows: Array, words: Array) -> Array:
    ratio, q = _ratios(subject, rows, words), subject.stored.storage.q
    rounded = np.copysign(np.floor(np.abs(ratio) + np.float32(0.5)), ratio)
    return np.clip(rounded, -q, q).astype(np.int64)


def _no_halves(subject: LadderSubject, span: Span) -> str | None:
    if subject.stored.storage.dense:
        return "it has no scales"
    rows = semantic_rows(subject, span, read_words(subject, span))
    words = production.scale_words(subject, rows)
    same = np.array_equal(_away(subject, rows, words), production.quantized(subject, rows, words))
    return "no ratio of these rows is a half that ties to even" if same else None


def _off_by_one(subject: LadderSubject, rows: Array, words: Array) -> Array:
    """A zero point of one, the code domain wrapping around."""
    codes, bits = production.quantized(subject, rows, words) + 1, subject.stored.storage.bits
    return (codes + (1 << (bits - 1))) % (1 << bits) - (1 << (bits - 1))


def _early(subject: LadderSubject, rows: Array, words: Array) -> Array:
    top = subject.stored.storage.q - 1
    return np.clip(production.quantized(subject, rows, words), -top, top)


def _unsaturated(subject: LadderSubject, span: Span) -> str | None:
    if subject.stored.storage.dense:
        return "it has no scales"
    rows = semantic_rows(subject, span, read_words(subject, span))
    codes = production.quantized(subject, rows, production.scale_words(subject, rows))
    return None if (np.abs(codes) == subject.stored.storage.q).any() else "no code is the largest"


FAULTS = (
    LadderFault(
        "source_words_shifted", "the source is read one element off", writing(read=_shifted)
    ),
    LadderFault(
        "bf16_source_read_as_f16",
        "bfloat16 words of the source are taken for binary16",
        writing(semantic=_read_as("F16")),
        _source_is("BF16"),
    ),
    LadderFault(
        "f16_source_read_as_bf16",
        "binary16 words of the source are taken for bfloat16",
        writing(semantic=_read_as("BF16")),
        _source_is("F16"),
    ),
    LadderFault(
        "rows_not_permuted",
        "rows of queries or keys stay in the source's order",
        writing(semantic=_not_permuted),
        _rotary,
    ),
    LadderFault(
        "matrix_not_transposed",
        "a square matrix is packed as its source stores it",
        writing(semantic=_not_transposed),
        _square,
    ),
    LadderFault(
        "rounded_through_f16",
        "weights pass through binary16 before they are quantized",
        writing(semantic=_through_f16),
        _not_f16,
    ),
    LadderFault(
        "scale_dtype",
        "scales are written in another type than declared",
        writing(scales=_other_scales),
        with_scales,
    ),
    LadderFault(
        "scale_truncated",
        "scales are one step too small",
        writing(scales=_truncated),
        with_scales,
    ),
    LadderFault(
        "scale_of_next_group",
        "each group has the scale of its neighbour",
        writing(scales=_next_group),
        _one_scale,
    ),
    LadderFault(
        "halves_away_from_zero",
        "halves are rounded away from zero",
        writing(quantize=_away),
        _no_halves,
    ),
    LadderFault(
        "zero_point", "codes are one too large", writing(quantize=_off_by_one), with_scales
    ),
    LadderFault(
        "saturated_early",
        "codes saturate one below the largest",
        writing(quantize=_early),
        _unsaturated,
    ),
)
