"""The ground and the first rung anew: the source file read here, the steps by their definitions."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trlm_lab.flows.quant_ladder.subject import LadderSubject
from trlm_lab.rungs import interleaved_rows, widened_words

Array = NDArray[Any]
Span = tuple[int, int]

_SIZES = {"F32": 4, "F16": 2, "BF16": 2}


def as_words(values: Array) -> Array:
    """Elements of a source as unsigned integers of their bits."""
    return np.ascontiguousarray(values).view(f"<u{values.dtype.itemsize}").astype(np.int64)


def as_stored(subject: LadderSubject, words: Array) -> Array:
    """Integers as the element type that the packer reads."""
    dtype = subject.part.stored.info.dtype
    raw = words.astype(f"<u{_SIZES[dtype]}")
    return raw if dtype == "BF16" else raw.view(f"<f{_SIZES[dtype]}")


def source_words(subject: LadderSubject, span: Span) -> Array:
    """The words that become these rows, by the file's own header: eight bytes, JSON, payload."""
    part = subject.part
    dtype, shape, begin = _header(part.stored.path, part.stored.info.name)
    size, cols = _SIZES[dtype], shape[-1]
    first, count, left, right = _region(subject, span, shape)
    with part.stored.path.open("rb") as stream:
        stream.seek(begin + first * cols * size)
        data = stream.read(count * cols * size)
    rows = np.frombuffer(data, f"<u{size}").astype(np.int64).reshape(count, cols)
    return rows[:, left:right]


def _region(
    subject: LadderSubject, span: Span, shape: tuple[int, ...]
) -> tuple[int, int, int, int]:
    """First row, number of rows, and columns of the stored tensor that the span needs."""
    part = subject.part
    if len(shape) == 1:
        return 0, 1, part.first, part.first + subject.cols
    if part.transposed:
        return 0, shape[0], part.first + span[0], part.first + span[1]
    return part.first + span[0], span[1] - span[0], 0, shape[1]


def _header(path: Path, name: str) -> tuple[str, tuple[int, ...], int]:
    with path.open("rb") as stream:
        length = int.from_bytes(stream.read(8), "little")
        row = json.loads(stream.read(length))[name]
    return row["dtype"], tuple(row["shape"]), 8 + length + row["data_offsets"][0]


def semantic_rows(subject: LadderSubject, span: Span, words: Array) -> Array:
    """float32 rows of the artifact's order from the source's words."""
    part = subject.part
    return turned(words, part.stored.info.dtype, part.transposed, subject.stored.rotary, span)


def turned(words: Array, dtype: str, transposed: bool, rotary: int, span: Span) -> Array:
    """Words widened; columns as rows where transposed; halves interleaved in heads of `rotary`."""
    rows = widened_words(words, dtype)
    if transposed:
        rows = np.array([rows[:, column] for column in range(rows.shape[1])], np.float32)
    if rotary:
        low = span[0] // rotary * rotary
        rows = rows[[row - low for row in interleaved_rows(*span, rotary)]]
    return np.ascontiguousarray(rows)


def probe(name: str, cols: int) -> Array:
    """Two rows of seeded float32 numbers, for tensors that no product reads."""
    seed = int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], "little")
    return np.random.Generator(np.random.Philox(seed)).standard_normal((2, cols), np.float32)
