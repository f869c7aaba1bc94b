"""A dense matrix with a sparse residual: y = dense + sparse, each a sum of its own.

The sparse part is one accumulator an output from +0.0 over ascending columns, in every profile,
each product rounded before it is added; then it is added to the dense product once. Rows that are
looked up, as an embedding's, are dense + sparse, element by element.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float
from numpy.typing import NDArray

from trlm_lab.ops.arithmetic import Arithmetic, Array

Ints = NDArray[np.int64]


@runtime_checkable
class SparseRows(Protocol):
    """Entries in CSR form, columns ascending within a row."""

    @property
    def row_ptr(self) -> Ints:
        """rows + 1 places; row r has the entries row_ptr[r] to row_ptr[r + 1]."""
        ...

    @property
    def columns(self) -> Ints:
        """Column of each entry."""
        ...

    @property
    def values(self) -> NDArray[np.float32]:
        """Value of each entry."""
        ...

    def dense(self, low: int, high: int) -> NDArray[np.float32]:
        """Some rows with zeros between the entries."""
        ...


@runtime_checkable
class Dense(Protocol):
    """What hands out rows."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Rows and columns."""
        ...

    def __getitem__(self, rows: slice, /) -> Any:
        """The rows of a slice."""
        ...


@dataclass(frozen=True)
class WithResidual:
    """A matrix and its residual."""

    dense: Dense
    sparse: SparseRows

    @property
    def shape(self) -> tuple[int, ...]:
        """Rows and columns."""
        return self.dense.shape

    def __getitem__(self, rows: slice) -> Array:
        """The rows of a slice of step 1, dense + sparse."""
        low, high, _ = rows.indices(self.shape[0])
        found = np.asarray(self.dense[rows])
        total: Array = found + self.sparse.dense(low, high).astype(found.dtype)
        return total


@np.errstate(all="ignore")
def sparse_product(
    x: Float[Array, "T I"], sparse: SparseRows, arithmetic: Arithmetic
) -> Float[Array, "T O"]:
    """The sparse part of x W^T: the k-th entries of all rows at once, k ascending."""
    starts = sparse.row_ptr[:-1]
    counts = np.diff(sparse.row_ptr)
    y = np.zeros((len(x), len(counts)), dtype=arithmetic.dtype)
    values = arithmetic.array(sparse.values)
    for k in range(int(counts.max(initial=0))):
        rows = np.flatnonzero(counts > k)
        entries = starts[rows] + k
        y[:, rows] += x[:, sparse.columns[entries]] * values[entries]
    return y
