"""Matrix product y = x W^T with W stored out x in, row-major, one output a row of W.

y[t, o] is the sum over ascending i of round(x[t, i] * W[o, i]) in the profile's order. The outputs
are cut into blocks that stay in cache; each block transposes its own rows of W and nothing more.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float

from trlm_lab.errors import ShapeMismatchError
from trlm_lab.ops.arithmetic import Arithmetic, Array
from trlm_lab.ops.reduction import sum_of_products
from trlm_lab.ops.sparse import WithResidual, sparse_product

#: Elements of a block of outputs (tokens times columns), and the widest block by token count.
BLOCK_ELEMENTS = 1 << 18
WIDEST_BLOCK = 2048
WIDEST_BLOCK_FEW_TOKENS = 4096
NARROWEST_BLOCK = 256
#: Below this many products a second thread costs more than it gains.
THREADING_THRESHOLD = 1 << 22


@runtime_checkable
class RowBlocks(Protocol):
    """A matrix (rows, cols) that hands out float rows by slice: an array, or a decoder of codes."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Rows and columns."""
        ...

    def __getitem__(self, rows: slice, /) -> Array:
        """The rows of a slice, shape (n, cols)."""
        ...


def check_matmul_shapes(x: tuple[int, ...], weight: tuple[int, ...]) -> None:
    """Raise ShapeMismatchError unless x is (T, I) and weight (O, I)."""
    if len(x) != 2 or len(weight) != 2 or x[1] != weight[1]:
        expected = f"x (T, I) and weight (O, I), weight is {weight}"
        raise ShapeMismatchError(where="matmul", name="x", got=x, expected=expected)


def block_width(tokens: int, outputs: int, threads: int) -> int:
    """Columns of a block of outputs: cache-sized, and at least one block a thread."""
    widest = WIDEST_BLOCK if tokens >= 16 else WIDEST_BLOCK_FEW_TOKENS
    width = max(NARROWEST_BLOCK, min(widest, BLOCK_ELEMENTS // max(tokens, 1)))
    return max(1, min(width, -(-outputs // threads)))


def _for_each_block(work: Callable[[int], None], starts: range, threads: int) -> None:
    if threads == 1 or len(starts) == 1:
        for start in starts:
            work(start)
        return
    with ThreadPoolExecutor(threads) as pool:
        for _ in pool.map(work, starts):
            pass


def matmul(
    x: Float[Array, "T I"], weight: RowBlocks, arithmetic: Arithmetic
) -> Float[Array, "T O"]:
    """x W^T; `weight` has shape (O, I), and may have a sparse residual.

    Raises:
        ShapeMismatchError: the inner lengths differ, or an operand has another rank.
    """
    x = arithmetic.array(x)
    check_matmul_shapes(x.shape, tuple(weight.shape))
    if isinstance(weight, WithResidual):
        with np.errstate(all="ignore"):
            dense = matmul(x, weight.dense, arithmetic)
            return np.asarray(dense + sparse_product(x, weight.sparse, arithmetic))
    tokens, outputs = len(x), weight.shape[0]
    threads = arithmetic.threads if x.size * outputs >= THREADING_THRESHOLD else 1
    width = block_width(tokens, outputs, threads)
    columns = np.ascontiguousarray(x.T)[:, :, None]
    y = np.empty((tokens, outputs), dtype=arithmetic.dtype)

    @np.errstate(all="ignore")  # here, since each thread has settings of its own
    def work(start: int) -> None:
        rows = arithmetic.array(weight[start : start + width])
        if arithmetic.lanes is None:
            y[:, start : start + width] = x @ rows.T
            return
        transposed = np.ascontiguousarray(rows.T)[:, None, :]
        y[:, start : start + width] = sum_of_products(columns, transposed, arithmetic)

    _for_each_block(work, range(0, outputs, width), threads)
    return y
