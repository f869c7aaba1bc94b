"""The weights file of a snapshot: tensors read in slices of rows, never mapped, never whole."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trlm_lab.base.model_parts import EMBEDDING, HEAD, ModelTensor, model_tensors
from trlm_lab.base.records import EffectiveConfig
from trlm_lab.base.safetensors_header import TensorInfo, read_header
from trlm_lab.errors import (
    PackDtypeError,
    PackMissingTensorError,
    PackShapeError,
    PackSourceError,
    PackTiedHeadError,
    PackUnknownTensorError,
)

WEIGHTS = "model.safetensors"
#: Elements of one slice of rows (at least one row): 16 MB of float32.
SLICE_ELEMENTS = 4 << 20
#: Element types that widen to float32 without rounding; BF16 is read as its 16 bits.
SOURCE_TYPES: dict[str, str] = {"F32": "<f4", "F16": "<f2", "BF16": "<u2"}


@dataclass(frozen=True)
class Weights:
    """The weights file: its path and its tensors by name, structure already checked."""

    path: Path
    tensors: dict[str, TensorInfo]

    def slices(self, info: TensorInfo) -> Iterator[tuple[int, NDArray[Any]]]:
        """(first row, rows) of a tensor as a matrix, in its stored element type."""
        cols = info.shape[-1]
        rows = info.elements // cols
        step = max(1, SLICE_ELEMENTS // cols)
        dtype = np.dtype(SOURCE_TYPES[info.dtype])
        for row in range(0, rows, step):
            count = min(step, rows - row) * cols
            offset = info.begin + row * cols * dtype.itemsize
            # Opened for each slice, so that a refusal midway leaves no handle behind.
            yield row, np.fromfile(self.path, dtype, count, offset=offset).reshape(-1, cols)


def open_weights(root: Path) -> Weights:
    """Open `model.safetensors` of a snapshot.

    Raises:
        PackSourceError: no such file.
        SafetensorsError, JsonError: the container is malformed.
    """
    path = root / WEIGHTS
    if not path.is_file():
        raise PackSourceError(where=str(root), detail=f"there is no {WEIGHTS}")
    return Weights(path, {t.name: t for t in read_header(path)})


def widened(values: NDArray[Any], dtype: str) -> NDArray[np.float32]:
    """Stored values as float32, exactly."""
    if dtype == "BF16":
        return (values.astype(np.uint32) << np.uint32(16)).view(np.float32)
    return values.astype(np.float32, copy=False)


def match_tensors(weights: Weights, config: EffectiveConfig) -> list[ModelTensor]:
    """The tensors to write, in file order; source and configuration explain each other fully.

    A tied head may be absent, or present if its bytes are the embedding's.

    Raises:
        PackUnknownTensorError, PackMissingTensorError, PackShapeError, PackDtypeError,
        PackTiedHeadError: the first rule that is broken.
    """
    expected = model_tensors(config)
    where = weights.path.name
    unknown = sorted(set(weights.tensors) - {t.name for t in expected})
    if unknown:
        raise PackUnknownTensorError(where=where, names=_some(unknown))
    optional = {HEAD} if config.tie_word_embeddings else set()
    wanted = {t.name for t in expected} - optional
    missing = sorted(wanted - set(weights.tensors))
    if missing:
        raise PackMissingTensorError(where=where, names=_some(missing))
    for tensor in expected:
        if tensor.name in weights.tensors:
            _check_tensor(where, tensor, weights.tensors[tensor.name])
    if config.tie_word_embeddings and HEAD in weights.tensors:
        _check_tied_head(weights)
    return expected


def _some(names: list[str]) -> str:
    more = f" and {len(names) - 5} more" if len(names) > 5 else ""
    return ", ".join(names[:5]) + more


def _check_tensor(where: str, expected: ModelTensor, info: TensorInfo) -> None:
    if info.dtype not in SOURCE_TYPES:
        raise PackDtypeError(
            where=where, tensor=info.name, got=info.dtype, expected=", ".join(SOURCE_TYPES)
        )
    if info.shape != expected.shape:
        raise PackShapeError(
            where=where, tensor=info.name, got=list(info.shape), expected=list(expected.shape)
        )


def _check_tied_head(weights: Weights) -> None:
    head, embedding = weights.tensors[HEAD], weights.tensors[EMBEDDING]
    if head.dtype != embedding.dtype:
        raise PackTiedHeadError(where=weights.path.name, tensor=HEAD, byte=0)
    pairs = zip(weights.slices(head), weights.slices(embedding), strict=True)
    at = 0
    for (_, a), (_, b) in pairs:
        left, right = (np.frombuffer(x.tobytes(), np.uint8) for x in (a, b))
        if not np.array_equal(left, right):
            byte = at + int(np.argmax(left != right))
            raise PackTiedHeadError(where=weights.path.name, tensor=HEAD, byte=byte)
        at += left.size
