"""Faults of readers and kernels: from the stored bytes to the dot products."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trlm_lab.flows.quant_ladder import production
from trlm_lab.flows.quant_ladder.faults.fault import (
    LadderFault,
    Planter,
    encoded,
    first_of,
    formats,
    padded,
    several_rows,
    with_scales,
)
from trlm_lab.flows.quant_ladder.faults.planes import far_rows, swapped_pair
from trlm_lab.flows.quant_ladder.route import SOUND, Span, lanes_product
from trlm_lab.flows.quant_ladder.subject import LadderSubject
from trlm_lab.rungs import scale_values

Array = NDArray[Any]


def _reading(**steps: Any) -> Planter:
    return lambda subject: replace(SOUND, **steps)


def _nibbles(subject: LadderSubject, stored: Array) -> Array:
    units = stored.reshape(-1, subject.stored.storage.unit_bytes).copy()
    low = units[:, : 32 if len(units[0]) > 1 else 1]
    low[:] = low >> np.uint8(4) | low << np.uint8(4)
    return production.unpacked(subject, units.reshape(stored.shape))


def _codes(subject: LadderSubject, stored: Array) -> Array:
    codes = production.unpacked(subject, stored)
    codes[:, : subject.cols] = swapped_pair(codes[:, : subject.cols])
    return codes


def _stride(subject: LadderSubject, stored: Array) -> Array:
    return production.unpacked(subject, far_rows(stored))


def _tail(subject: LadderSubject, stored: Array) -> Array:
    """Only whole units are read."""
    codes = production.unpacked(subject, stored)
    unit = subject.stored.storage.unit
    codes[:, subject.cols // unit * unit :] = 0
    return codes


def _tail_is_zero(subject: LadderSubject, span: Span) -> str | None:
    codes = production.unpacked(subject, subject.stored.plane(*span))
    unit = subject.stored.storage.unit
    lost = codes[:, subject.cols // unit * unit : subject.cols]
    return None if lost.any() else "its tail holds codes 0 only"


def _unsigned(subject: LadderSubject, stored: Array) -> Array:
    return production.unpacked(subject, stored) % (1 << subject.stored.storage.bits)


def _scales_as(encoding: str) -> Callable[[LadderSubject, Array, Array], Array]:
    def dequantize(subject: LadderSubject, stored: Array, words: Array) -> Array:
        return _weights(subject, production.unpacked(subject, stored), words, encoding)

    return dequantize


def _weights(subject: LadderSubject, codes: Array, words: Array, encoding: str) -> Array:
    storage = subject.stored.storage
    scales = scale_values(words, encoding).astype(np.float32)
    spread = np.repeat(scales, storage.group, axis=1)[:, : subject.cols]
    return codes[:, : subject.cols].astype(np.float32) * spread


def _next_scale(subject: LadderSubject, stored: Array, words: Array) -> Array:
    rolled = np.roll(words.reshape(-1), 1).reshape(words.shape)
    codes = production.unpacked(subject, stored)
    return _weights(subject, codes, rolled, subject.stored.storage.scales)


def _scales_equal(subject: LadderSubject, span: Span) -> str | None:
    if subject.stored.storage.dense:
        return "it has no scales"
    words = subject.stored.words(*span)
    return "all its scales are equal" if len(np.unique(words)) == 1 else None


def _zero_point(subject: LadderSubject, stored: Array, words: Array) -> Array:
    codes = production.unpacked(subject, stored) - 1
    return _weights(subject, codes, words, subject.stored.storage.scales)


def _words_as(encoding: str) -> Callable[[LadderSubject, Array, Array], Array]:
    """Dense words taken for those of another float."""

    def dequantize(subject: LadderSubject, stored: Array, words: Array) -> Array:
        codes = production.unpacked(subject, stored)
        return scale_values(codes, encoding).astype(np.float32)

    return dequantize


def _descending(x: Array, rows: Array) -> Array:
    return SOUND.dot(x[:, ::-1], np.ascontiguousarray(rows[:, ::-1]))


def _skips_last(x: Array, rows: Array) -> Array:
    return SOUND.dot(x[:, :-1], np.ascontiguousarray(rows[:, :-1]))


def _drops_tail(x: Array, rows: Array) -> Array:
    whole = x.shape[1] // 16 * 16
    return lanes_product(x[:, :whole], np.ascontiguousarray(rows[:, :whole]))


def _lanes_full(subject: LadderSubject, span: Span) -> str | None:
    full = subject.cols % 16 == 0
    return "its columns fill sixteen lanes" if full else None


def _fused(x: Array, rows: Array) -> Array:
    """Products are not rounded: the sums of each lane in float64, once rounded."""
    total = np.zeros((16, len(x), len(rows)))
    for column in range(x.shape[1]):
        wide = x[:, column, None].astype(np.float64) * rows[None, :, column]
        total[column % 16] = (total[column % 16] + wide).astype(np.float32)
    lanes = list(total.astype(np.float32))
    while len(lanes) > 1:
        half = len(lanes) // 2
        lanes = [low + high for low, high in zip(lanes[:half], lanes[half:], strict=True)]
    return lanes[0]


_NIBBLES = formats("q4_g64", "q5_g64", "q6_g64", "q4_0")

FAULTS = (
    LadderFault(
        "nibbles_read_swapped",
        "the reader takes the high nibble of each byte for the low one",
        _reading(unpack=_nibbles),
        _NIBBLES,
    ),
    LadderFault(
        "codes_read_swapped",
        "the reader swaps two neighbouring codes of each row",
        _reading(unpack=_codes),
    ),
    LadderFault(
        "row_stride_read",
        "the reader takes rows for one byte shorter than they are",
        _reading(unpack=_stride),
        several_rows,
    ),
    LadderFault(
        "tail_read_as_zero",
        "the reader takes whole units only",
        _reading(unpack=_tail),
        first_of(padded, _tail_is_zero),
    ),
    LadderFault(
        "codes_read_unsigned",
        "the reader knows no negative codes",
        _reading(unpack=_unsigned),
        with_scales,
    ),
    LadderFault(
        "bf16_scale_read_as_fp16",
        "bfloat16 scales are taken for binary16",
        _reading(dequantize=_scales_as("fp16")),
        encoded("bf16"),
    ),
    LadderFault(
        "fp16_scale_read_as_bf16",
        "binary16 scales are taken for bfloat16",
        _reading(dequantize=_scales_as("bf16")),
        encoded("fp16"),
    ),
    LadderFault(
        "scale_of_next_group_read",
        "each group is read with the scale of its neighbour",
        _reading(dequantize=_next_scale),
        _scales_equal,
    ),
    LadderFault(
        "zero_point_subtracted",
        "the reader subtracts a zero point of one",
        _reading(dequantize=_zero_point),
        with_scales,
    ),
    LadderFault(
        "bf16_weight_read_as_f16",
        "bfloat16 weights are taken for binary16",
        _reading(dequantize=_words_as("fp16")),
        formats("bf16"),
    ),
    LadderFault(
        "f16_weight_read_as_bf16",
        "binary16 weights are taken for bfloat16",
        _reading(dequantize=_words_as("bf16")),
        formats("f16"),
    ),
    LadderFault(
        "dot_descending", "the scalar sum begins at the last column", _reading(dot=_descending)
    ),
    LadderFault(
        "dot_skips_last_column",
        "the scalar sum ends one column early",
        _reading(dot=_skips_last),
    ),
    LadderFault(
        "kernel_drops_tail",
        "the vectorised kernel reads whole runs of sixteen only",
        _reading(kernel=_drops_tail),
        _lanes_full,
    ),
    LadderFault(
        "kernel_fused",
        "the vectorised kernel does not round products before it adds them",
        _reading(kernel=_fused),
    ),
)
