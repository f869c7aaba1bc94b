"""Weights of an SLM1 file under the source's names, decoded a block of rows at a time."""

from __future__ import annotations

import numpy as np

from trlm_lab.base.model_parts import HEAD
from trlm_lab.ops.arithmetic import Array
from trlm_lab.ops.matmul import RowBlocks
from trlm_lab.slm1.names import OUTPUT
from trlm_lab.slm1.read import Slm1File, Slm1Tensor


class Slm1Rows:
    """A stored matrix; rows come out as float32(code) * scale, one rounding."""

    def __init__(self, tensor: Slm1Tensor) -> None:
        self.tensor = tensor

    @property
    def shape(self) -> tuple[int, ...]:
        """The tensor's dimensions."""
        return self.tensor.placed.named.dims

    def __getitem__(self, rows: slice) -> Array:
        """The rows of a slice of step 1, (n, cols)."""
        low, high, _ = rows.indices(self.tensor.placed.rows)
        return self.tensor.decoded(low, high)


def slm1_tensors(slm1: Slm1File) -> dict[str, RowBlocks]:
    """Every tensor by the source's name; a tied head shows the embedding."""
    head = slm1.tensor(OUTPUT)
    stored = [(tensor.placed.named.source_name, tensor) for tensor in slm1.tensors]
    return {name: _rows(tensor) for name, tensor in [(HEAD, head), *stored]}


def _rows(tensor: Slm1Tensor) -> RowBlocks:
    if len(tensor.placed.named.dims) == 2:
        return Slm1Rows(tensor)
    return np.asarray(tensor.decoded(0, 1)[0])
