"""Weights by their Hugging Face names, read from where they lie, a few rows at a time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from trlm_lab.errors import ModelFilesError
from trlm_lab.ops.arithmetic import Array
from trlm_lab.ops.matmul import RowBlocks


class Weights(Protocol):
    """Read access to a model's tensors; nothing is copied that was not asked for.

    A tied head is served under its own name, `lm_head.weight`.
    """

    def matrix(self, name: str) -> RowBlocks:
        """A rank-2 tensor, by rows. Raises ModelFilesError where there is none."""
        ...

    def vector(self, name: str) -> Array:
        """A rank-1 tensor. Raises ModelFilesError where there is none."""
        ...


class ArrayWeights:
    """Weights out of a mapping of arrays (or of anything that hands out rows)."""

    def __init__(self, tensors: Mapping[str, RowBlocks], where: str = "weights") -> None:
        self.tensors = tensors
        self.where = where

    def _tensor(self, name: str, rank: int) -> RowBlocks:
        tensor = self.tensors.get(name)
        if tensor is None:
            raise ModelFilesError(where=self.where, detail=f"the tensor {name!r} is missing")
        if len(tensor.shape) != rank:
            detail = f"the tensor {name!r} has the shape {tuple(tensor.shape)}, not rank {rank}"
            raise ModelFilesError(where=self.where, detail=detail)
        return tensor

    def matrix(self, name: str) -> RowBlocks:
        """A rank-2 tensor, by rows."""
        return self._tensor(name, 2)

    def vector(self, name: str) -> Array:
        """A rank-1 tensor."""
        return self._tensor(name, 1)[:]
