"""Matrices decoded once and kept, for runs of many short cases on one model.

Decoding and widening a model costs as much as a hundred tokens of float64 arithmetic; a run over a
dozen short cases pays it once this way. It costs memory (8 bytes a weight in float64), so it is
asked for and never the default. No bit changes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from trlm_lab.ops.arithmetic import Array
from trlm_lab.ops.matmul import RowBlocks
from trlm_lab.ops.sparse import WithResidual

#: Rows decoded at a time, so that the decoder's own copies stay small.
STEP = 4096


class HeldRows:
    """A matrix in `dtype`, filled on first use."""

    def __init__(self, rows: RowBlocks, dtype: np.dtype[Any]) -> None:
        self._rows: RowBlocks | None = rows
        self._dtype = dtype
        self._held: Array | None = None
        self.shape = rows.shape

    def __getitem__(self, rows: slice) -> Array:
        """The rows of a slice, (n, cols)."""
        if self._held is None:
            self._held = self._decode()
        return self._held[rows]

    def _decode(self) -> Array:
        assert self._rows is not None
        held = np.empty(self.shape, dtype=self._dtype)
        for start in range(0, self.shape[0], STEP):
            held[start : start + STEP] = self._rows[start : start + STEP]
        self._rows = None
        return held


def _held(rows: RowBlocks, dtype: np.dtype[Any]) -> RowBlocks:
    """The rows held; a residual stays apart, since its sum is one of its own."""
    if isinstance(rows, WithResidual):
        return WithResidual(HeldRows(rows.dense, dtype), rows.sparse)
    return HeldRows(rows, dtype)


def held_tensors(tensors: Mapping[str, RowBlocks], dtype: np.dtype[Any]) -> dict[str, RowBlocks]:
    """Every matrix held, two names of one matrix (a tied head) once; vectors stay as they are."""
    made: dict[int, RowBlocks] = {}
    for rows in tensors.values():
        if len(rows.shape) == 2:
            made.setdefault(id(rows), _held(rows, dtype))
    return {name: made.get(id(rows), rows) for name, rows in tensors.items()}
