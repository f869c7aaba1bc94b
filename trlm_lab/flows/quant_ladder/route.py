"""The road of a weight through packer, file, readers and engine: the seam at which faults stand.

Every field is a step as our own code takes it; `dataclasses.replace` puts a fault in one of them.
Steps of the packer come first; a fault there is written into the planes that are then read.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trlm_lab.backends.profiles import evaluation_profile
from trlm_lab.backends.reference import Plant
from trlm_lab.flows.quant_ladder.production import (
    dequantized,
    packed_codes,
    quantized,
    scale_words,
    unpacked,
)
from trlm_lab.flows.quant_ladder.subject import LadderSubject
from trlm_lab.ops.matmul import matmul
from trlm_lab.pack.slm1.rows import interleaved
from trlm_lab.pack.source import Part, widened

Array = NDArray[Any]
Span = tuple[int, int]


def read_words(subject: LadderSubject, span: Span) -> Array:
    """The source's words that become these rows, in its own orientation.

    Rows of the stored tensor; of a transposed one its columns; of a rotary one whole heads.
    """
    part = subject.part
    first, last = heads(subject, span)
    if len(part.shape) == 1:
        return part.stored_elements(part.first, part.shape[0])[None, :]
    if part.transposed:
        rows, cols = part.stored.info.shape
        whole = part.stored_elements(0, rows * cols).reshape(rows, cols)
        return np.ascontiguousarray(whole[:, part.first + first : part.first + last])
    cols = part.shape[-1]
    return part.stored_elements((part.first + first) * cols, (last - first) * cols).reshape(
        -1, cols
    )


def heads(subject: LadderSubject, span: Span) -> Span:
    """The span, widened to whole heads where rows of a head change places."""
    width = subject.stored.rotary
    if not width:
        return span
    return span[0] // width * width, -(-span[1] // width) * width


def semantic_rows(subject: LadderSubject, span: Span, words: Array) -> Array:
    """The converter's float32 rows: widened, turned, in the order of the artifact."""
    part: Part = subject.part
    rows = widened(words, part.stored.info.dtype)
    if part.transposed:
        rows = np.ascontiguousarray(rows.T)
    if subject.stored.rotary:
        low = heads(subject, span)[0]
        rows = interleaved(rows, subject.stored.rotary)[span[0] - low : span[1] - low]
    return np.ascontiguousarray(rows, np.float32)


def scalar_product(x: Array, rows: Array) -> Array:
    """The reference's scalar dot products, (T, R)."""
    return matmul(x, rows, evaluation_profile("scalar-f32-v1").arithmetic())


def lanes_product(x: Array, rows: Array) -> Array:
    """The vectorised kernel's dot products in sixteen lanes, (T, R)."""
    return matmul(x, rows, evaluation_profile("lanes16-f32-v1").arithmetic())


def greedy(logits: Array, topk_ids: Sequence[int]) -> int:
    """The token that the engine chose: the first of its own list."""
    return int(topk_ids[0])


@dataclass(frozen=True)
class Route:
    """One callable a step; `writes` where a step of the packer is not the sound one.

    `plant` changes the engine whose checkpoints are the upper rungs; None: the best sound engine.
    """

    read: Callable[[LadderSubject, Span], Array] = read_words
    semantic: Callable[[LadderSubject, Span, Array], Array] = semantic_rows
    scales: Callable[[LadderSubject, Array], Array] = scale_words
    quantize: Callable[[LadderSubject, Array, Array], Array] = quantized
    pack: Callable[[LadderSubject, Array], Array] = packed_codes
    unpack: Callable[[LadderSubject, Array], Array] = unpacked
    dequantize: Callable[[LadderSubject, Array, Array], Array] = dequantized
    dot: Callable[[Array, Array], Array] = scalar_product
    kernel: Callable[[Array, Array], Array] = lanes_product
    choose: Callable[[Array, Sequence[int]], int] = greedy
    plant: Plant | None = None
    writes: bool = False


SOUND = Route()
