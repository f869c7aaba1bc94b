"""The tensors of a source and what is made of each: read in blocks, never mapped, never whole."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trlm_lab.base.model_parts import EMBEDDING, HEAD
from trlm_lab.base.records import EffectiveConfig, Transform
from trlm_lab.base.safetensors_header import StoredTensor, TensorInfo
from trlm_lab.base.source_tensors import SourceTensor, stored_sources
from trlm_lab.errors import (
    PackDtypeError,
    PackMissingTensorError,
    PackShapeError,
    PackTiedHeadError,
    PackUnknownTensorError,
)
from trlm_lab.pack.shards import stored_tensors

#: Elements of one block (at least one row): 16 MB of float32.
SLICE_ELEMENTS = 4 << 20
#: Element types that widen to float32 without rounding; BF16 is read as its 16 bits.
SOURCE_TYPES: dict[str, str] = {"F32": "<f4", "F16": "<f2", "BF16": "<u2"}

Raw = NDArray[Any]


@dataclass(frozen=True)
class Part:
    """A tensor of the model as it lies in its source: a stored tensor and the steps behind it."""

    stored: StoredTensor
    steps: tuple[Transform, ...] = ()

    @property
    def transposed(self) -> bool:
        """Whether rows of the model's tensor are columns of the stored one."""
        return any(step.kind == "transpose" for step in self.steps)

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape behind the steps."""
        shape = self.stored.info.shape
        for step in self.steps:
            if step.kind == "transpose":
                shape = shape[::-1]
            else:
                shape = (step.parameters["count"], *shape[1:])
        return shape

    @property
    def first(self) -> int:
        """The first row of the whole that belongs to the part."""
        rows = (step.parameters["first"] for step in self.steps if step.kind == "rows")
        return int(next(rows, 0))

    def stored_elements(self, first: int, count: int) -> Raw:
        """Some elements of the stored tensor, flat, in its own element type."""
        return _elements(self.stored, first, count)

    def blocks(self) -> Iterator[tuple[int, Raw]]:
        """(first row, rows) of the part as a matrix in the stored type; a vector is one row."""
        count, cols = matrix_shape(self.shape)
        step = max(1, SLICE_ELEMENTS // cols)
        for low in range(0, count, step):
            high = min(low + step, count)
            if self.transposed:
                columns = self.first + low, self.first + high
                yield low, np.ascontiguousarray(_columns(self.stored, *columns).T)
            else:
                # The rows of a vector are its elements.
                at = self.first + low if len(self.shape) == 1 else (self.first + low) * cols
                yield low, _elements(self.stored, at, (high - low) * cols).reshape(-1, cols)


def matrix_shape(shape: tuple[int, ...]) -> tuple[int, int]:
    """Rows and columns of a tensor: the last axis, and all before it."""
    cols = shape[-1] if shape else 1
    return int(np.prod(shape[:-1], dtype=np.int64)), cols


def stored_rows(stored: StoredTensor) -> Iterator[Raw]:
    """A stored tensor as blocks of rows in its own element type, in its own order."""
    yield from (rows for _, rows in Part(stored).blocks())


def _elements(stored: StoredTensor, first: int, count: int) -> Raw:
    info = stored.info
    dtype = np.dtype(SOURCE_TYPES[info.dtype])
    # Opened for each block, so that a refusal midway leaves no handle behind.
    return np.fromfile(stored.path, dtype, count, offset=info.begin + first * dtype.itemsize)


def _columns(stored: StoredTensor, low: int, high: int) -> Raw:
    """Columns of a stored matrix, read row by row."""
    info = stored.info
    rows, cols = matrix_shape(info.shape)
    dtype = np.dtype(SOURCE_TYPES[info.dtype])
    if (low, high) == (0, cols):
        return _elements(stored, 0, rows * cols).reshape(rows, cols)
    out = np.empty((rows, high - low), dtype)
    with stored.path.open("rb") as stream:
        for row in range(rows):
            stream.seek(info.begin + (row * cols + low) * dtype.itemsize)
            out[row] = np.frombuffer(stream.read((high - low) * dtype.itemsize), dtype)
    return out


def widened(values: Raw, dtype: str) -> NDArray[np.float32]:
    """Stored values as float32, exactly."""
    if dtype == "BF16":
        return (values.astype(np.uint32) << np.uint32(16)).view(np.float32)
    return values.astype(np.float32, copy=False)


@dataclass(frozen=True)
class Sources:
    """A source whose tensors and a configuration explain each other fully.

    `parts` are the model's tensors by name, without the tied head; `head` is the stored copy of it,
    where there is one; `omitted` are the tensors of which nothing is made.
    """

    root: Path
    parts: dict[str, Part]
    head: StoredTensor | None
    omitted: tuple[tuple[SourceTensor, StoredTensor], ...]


def open_sources(root: Path, config: EffectiveConfig) -> Sources:
    """Read the headers of the weight files and match them with the configuration.

    A tied head may be absent, or present if its bytes are the embedding's.

    Raises:
        PackUnknownTensorError, PackMissingTensorError, PackShapeError, PackDtypeError,
        PackTiedHeadError: the first rule that is broken.
        PackSourceError and its neighbours: as `stored_tensors`.
    """
    stored = stored_tensors(root)
    plan = stored_sources(config, stored)
    _check_names(root, plan, stored.keys(), {HEAD} if config.tie_word_embeddings else set())
    present = [(source, stored[source.name]) for source in plan if source.name in stored]
    for source, found in present:
        _check_tensor(source, found)
    parts = {
        part.destination: Part(found, part.steps)
        for source, found in present
        for part in source.parts
    }
    head = None
    if config.tie_word_embeddings and HEAD in parts:
        head = parts.pop(HEAD).stored
        _check_tied_head(head, parts[EMBEDDING].stored)
    return Sources(root, parts, head, tuple(row for row in present if row[0].omitted))


def _check_names(root: Path, plan: list[SourceTensor], names: Any, optional: set[str]) -> None:
    wanted = {source.name for source in plan}
    unknown, missing = sorted(names - wanted), sorted(wanted - optional - names)
    if unknown:
        raise PackUnknownTensorError(where=root.name, names=_some(unknown))
    if missing:
        raise PackMissingTensorError(where=root.name, names=_some(missing))


def _some(names: list[str]) -> str:
    more = f" and {len(names) - 5} more" if len(names) > 5 else ""
    return ", ".join(names[:5]) + more


def _check_tensor(source: SourceTensor, stored: StoredTensor) -> None:
    """Shapes are compared axis by axis: a count of elements says nothing."""
    where, info = stored.path.name, stored.info
    if source.parts and info.dtype not in SOURCE_TYPES:
        raise PackDtypeError(
            where=where, tensor=info.name, got=info.dtype, expected=", ".join(SOURCE_TYPES)
        )
    if info.shape != source.shape:
        raise PackShapeError(
            where=where, tensor=info.name, got=list(info.shape), expected=list(source.shape)
        )


def _check_tied_head(head: StoredTensor, embedding: StoredTensor) -> None:
    where = head.path.name
    if head.info.dtype != embedding.info.dtype:
        raise PackTiedHeadError(where=where, tensor=HEAD, byte=0)
    at = 0
    for one, other in zip(stored_rows(head), stored_rows(embedding), strict=True):
        left, right = (np.frombuffer(x.tobytes(), np.uint8) for x in (one, other))
        if not np.array_equal(left, right):
            byte = at + int(np.argmax(left != right))
            raise PackTiedHeadError(where=where, tensor=HEAD, byte=byte)
        at += left.size


def byte_strides(info: TensorInfo) -> tuple[int, ...]:
    """Bytes from one element to the next along each axis: C order, without gaps."""
    size = np.dtype(SOURCE_TYPES[info.dtype]).itemsize
    return tuple(
        int(np.prod(info.shape[axis + 1 :], dtype=np.int64)) * size
        for axis in range(len(info.shape))
    )
