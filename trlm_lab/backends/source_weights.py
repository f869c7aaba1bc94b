"""A model's tensors out of its source's own, by the steps of `base.source_tensors`, uncopied.

Most families store the model's tensors themselves. Joined projections are looked at by ranges of
rows, those stored (in, out) by their columns, a block at a time.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from trlm_lab.base.model_parts import EMBEDDING, HEAD
from trlm_lab.base.records import EffectiveConfig, Transform
from trlm_lab.base.source_tensors import SourceTensor, stored_sources
from trlm_lab.errors import ModelFilesError
from trlm_lab.ops.arithmetic import Array
from trlm_lab.ops.matmul import RowBlocks


@dataclass(frozen=True)
class RowRange:
    """`count` rows of a tensor from row `first` on."""

    whole: RowBlocks
    first: int
    count: int

    @property
    def shape(self) -> tuple[int, ...]:
        """The range's dimensions."""
        return (self.count, *self.whole.shape[1:])

    def __getitem__(self, rows: slice) -> Array:
        """The rows of a slice of step 1."""
        low, high, _ = rows.indices(self.count)
        return self.whole[self.first + low : self.first + high]


@dataclass(frozen=True)
class Transposed:
    """A matrix stored the other way round; its rows are the stored columns."""

    stored: RowBlocks

    @property
    def shape(self) -> tuple[int, ...]:
        """Rows and columns behind the transposition."""
        return tuple(self.stored.shape)[::-1]

    def __getitem__(self, rows: slice) -> Array:
        """The rows of a slice."""
        return np.ascontiguousarray(self.stored[:][:, rows].T)


def model_weights(
    config: EffectiveConfig, stored: Mapping[str, RowBlocks], where: str
) -> dict[str, RowBlocks]:
    """Every tensor of the model under its own name; a tied head is the embedding's.

    Raises:
        ModelFilesError: a tensor of the source is missing or has another shape.
    """
    found: dict[str, RowBlocks] = {}
    for tensor in stored_sources(config, stored):
        # The source's loader ties the head whatever the file holds, and leaves some buffers aside.
        if not tensor.omitted and not (tensor.name == HEAD and config.tie_word_embeddings):
            whole = _stored(tensor, stored, where)
            found |= {part.destination: _after(part.steps, whole) for part in tensor.parts}
    return {**found, HEAD: found[EMBEDDING]} if config.tie_word_embeddings else found


def _stored(tensor: SourceTensor, stored: Mapping[str, RowBlocks], where: str) -> RowBlocks:
    whole = stored.get(tensor.name)
    if whole is None or tuple(whole.shape) != tensor.shape:
        got = "missing" if whole is None else f"of shape {tuple(whole.shape)}"
        detail = f"the tensor {tensor.name!r} is {got}, needed is {tensor.shape}"
        raise ModelFilesError(where=where, detail=detail)
    return whole


def _after(steps: tuple[Transform, ...], rows: RowBlocks) -> RowBlocks:
    for step in steps:
        if step.kind == "transpose":
            rows = Transposed(rows)
        else:
            rows = RowRange(rows, step.parameters["first"], step.parameters["count"])
    return rows
