"""Which weights a residual keeps: the worst of each row, where a tensor's loss calls for one.

    loss = sum (x - w)^2 k[c] / sum x^2 k[c]      w the dequantized weight, k the column's weight

`k` is the mean square of the input channel on calibration activations, 1 where there are none. Sums
are float64, strictly ascending, so that every machine decides alike.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float32, Float64
from numpy.typing import NDArray

from trlm_lab.errors import QuantRangeError
from trlm_lab.quant.sparse import Sparse

Array = NDArray[Any]
#: Blocks of rows differ in their number.
Pair = tuple[Float32[Array, "_ C"], Float32[Array, "_ C"]]


@dataclass(frozen=True)
class ResidualRule:
    """`value_dtype` is f16 or q8_r128; a tensor gets a residual where its loss is above
    `loss_threshold`, of less than `max_density` of its elements."""

    value_dtype: str
    loss_threshold: float
    max_density: float

    def entries_of_row(self, cols: int) -> int:
        """The most entries of a row whose density stays below the limit."""
        most = int(np.ceil(self.max_density * cols)) - 1
        return max(most, 0)


class Loss:
    """The loss of a tensor, gathered over consecutive blocks of rows."""

    def __init__(self, columns: Float64[Array, " C"] | None = None) -> None:
        self._columns = columns
        self._lost, self._whole = 0.0, 0.0

    def add(self, weights: Float32[Array, "R C"], stored: Float32[Array, "R C"]) -> None:
        """The next rows, as they were and as they are stored."""
        gap = (weights - stored).astype(np.float64)
        self._lost = _ascending(self._lost, self._weighted(np.square(gap)))
        self._whole = _ascending(self._whole, self._weighted(np.square(weights.astype(np.float64))))

    @property
    def value(self) -> float:
        """The loss; 0 of a tensor of zeros."""
        return self._lost / self._whole if self._whole > 0 else 0.0

    def _weighted(self, squares: Float64[Array, "R C"]) -> Float64[Array, "R C"]:
        return squares if self._columns is None else squares * self._columns


def _ascending(start: float, terms: Float64[Array, "R C"]) -> float:
    """start + the terms one by one in their order (never pairwise)."""
    flat = np.concatenate([[start], terms.reshape(-1)])
    return float(np.add.accumulate(flat)[-1])


def residual_of(pairs: Iterable[Pair], rule: ResidualRule) -> Sparse:
    """The largest differences of each row; of equal ones those of lower columns.

    `pairs` are consecutive blocks of rows as they were and as they are stored. A difference that
    its value form rounds to nothing is no entry.

    Raises:
        QuantRangeError: a difference above the largest binary16.
    """
    counts, columns, values, cols = [0], [], [], 0
    for weights, stored in pairs:
        cols = weights.shape[1]
        with np.errstate(under="ignore", over="ignore"):
            gap = (weights - stored).astype(np.float16).astype(np.float32)
        if not np.isfinite(gap).all():
            row, column = (int(i) for i in np.argwhere(~np.isfinite(gap))[0])
            lost = float(weights[row, column]) - float(stored[row, column])
            raise QuantRangeError(
                where="residual", tensor="residual", row=len(counts) - 1 + row, column=column,
                value=lost, limit=float(np.finfo(np.float16).max),
            )  # fmt: skip
        chosen = np.argsort(-np.abs(gap), axis=1, kind="stable")[:, : rule.entries_of_row(cols)]
        chosen = np.sort(chosen, axis=1)
        kept = np.take_along_axis(gap, chosen, axis=1)
        used = kept != 0
        counts += np.count_nonzero(used, axis=1).tolist()
        columns.append(chosen[used])
        values.append(kept[used])
    return Sparse(
        len(counts) - 1,
        cols,
        np.cumsum(counts, dtype=np.int64),
        np.concatenate(columns).astype(np.int64),
        np.concatenate(values),
    )
