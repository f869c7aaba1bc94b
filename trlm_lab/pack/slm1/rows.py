"""Rows of a tensor in SLM1's order and back: neighbours as rotary pairs, a few heads at a time."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from trlm_lab.base.records import Transform
from trlm_lab.pack.source import SLICE_ELEMENTS, Part, matrix_shape, widened
from trlm_lab.slm1.names import NamedTensor
from trlm_lab.slm1.read import Slm1Tensor

F32 = NDArray[np.float32]


def interleaved(rows: F32, head_dim: int) -> F32:
    """Whole heads with pairs (i, i + E/2) as heads with pairs (2i, 2i + 1)."""
    heads = rows.reshape(-1, 2, head_dim // 2, rows.shape[1])
    return np.ascontiguousarray(heads.swapaxes(1, 2)).reshape(rows.shape)


def half_split(rows: F32, head_dim: int) -> F32:
    """The inverse of `interleaved`."""
    heads = rows.reshape(-1, head_dim // 2, 2, rows.shape[1])
    return np.ascontiguousarray(heads.swapaxes(1, 2)).reshape(rows.shape)


def rotary_step(named: NamedTensor, head_dim: int, *, back: bool = False) -> Transform:
    """The ledger's step; `back` is the inverse, of a migration."""
    orders = ["half_split", "interleaved"]
    start, end = reversed(orders) if back else orders
    parameters = {"from": start, "to": end, "heads": named.rotary_heads, "head_dim": head_dim}
    return Transform("rotary_permutation", parameters)


def spans(rows: int, cols: int, unit: int) -> Iterator[tuple[int, int]]:
    """Ranges of rows, whole units of them, about 16 MB of float32 each."""
    step = max(1, SLICE_ELEMENTS // (cols * unit)) * unit
    for low in range(0, rows, step):
        yield low, min(low + step, rows)


def slm1_rows(part: Part, named: NamedTensor, head_dim: int) -> Iterator[F32]:
    """A source tensor as float32 rows in SLM1's order. No part of a llama is transposed."""
    rows, cols = matrix_shape(part.shape)
    dtype = part.stored.info.dtype
    for low, high in spans(rows, cols, head_dim if named.rotary_heads else 1):
        first = part.first if len(part.shape) == 1 else (part.first + low) * cols
        values = widened(part.stored_elements(first, (high - low) * cols), dtype)
        block = values.reshape(-1, cols)
        yield interleaved(block, head_dim) if named.rotary_heads else block


def model_rows(tensor: Slm1Tensor, head_dim: int, *, as_stored: bool = False) -> Iterator[F32]:
    """A stored tensor as float32 rows in the source's order, or in that of the file."""
    placed = tensor.placed
    rotary = bool(placed.named.rotary_heads)
    for low, high in spans(placed.rows, placed.cols, head_dim if rotary else 1):
        rows = tensor.decoded(low, high)
        yield half_split(rows, head_dim) if rotary and not as_stored else rows
