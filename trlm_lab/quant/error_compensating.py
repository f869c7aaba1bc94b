"""Codes column by column, each error made good by the columns to come: a GPTQ-like quantizer.

    H = gram + damping * mean(diagonal) * identity        H^-1 = U^T U, U upper triangular
    for column j in order:   w' = value(code(w_j))        with its group's scale
                             w_k -= (w_j - w') * U[j, k] / U[j, j]   for every later k

as in Frantar et al., 2022, without blocks of columns. Scales are decided beforehand, from the
source's weights: of every group the fraction of absmax with the least sum of squared errors, each
square weighted with the diagonal of the Gram matrix. Columns go in the order of `ordering`:
`ascending`, or `descending-diagonal` (the largest diagonal element first, the lower column among
equals). With the identity it is the clipping search, or plain rounding with the one fraction 1.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from jaxtyping import Float32, Float64
from numpy.typing import NDArray

from trlm_lab.quant.clipping import Weighted, codes_of
from trlm_lab.quant.coded import Coded, rounded
from trlm_lab.quant.gram import ROWS, check_gram, damped, inverse_factor
from trlm_lab.quant.grouped import Grouped

Array = NDArray[Any]
ORDERINGS = ("ascending", "descending-diagonal")


@dataclass(frozen=True)
class ErrorCompensating:
    """`fractions` are the grid of the scales, `ordering` one of `ORDERINGS`."""

    damping: float
    fractions: tuple[float, ...]
    ordering: str

    def quantize(
        self,
        form: Grouped,
        weights: Float32[Array, "R C"],
        gram: Float64[Array, "N N"],
        *,
        where: str = "",
    ) -> Coded:
        """Codes and scales of a whole matrix; rows do not know each other.

        Raises:
            QuantGramError: no Gram matrix of the columns, or not positive definite when damped.
            QuantNonFiniteError, QuantOverflowError: as `Grouped.quantize`.
        """
        check_gram(gram, weights.shape[1], where=where)
        diagonal = np.diagonal(gram)
        grid = replace(form, clipping=Weighted(self.fractions, diagonal))
        words = rounded(grid, weights, where=where).words
        order = self._order(diagonal)
        factor = inverse_factor(damped(gram, self.damping)[np.ix_(order, order)], where=where)
        codes = np.empty(weights.shape, np.int8)
        for low in range(0, len(weights), ROWS):
            rows = slice(low, low + ROWS)
            scales = form.encoding.values(words[rows])[:, order // form.group]
            codes[rows, order] = compensated(weights[rows][:, order], scales, factor, form.q)
        return Coded(codes, words)

    def _order(self, diagonal: Float64[Array, " C"]) -> Any:
        if self.ordering == "ascending":
            return np.arange(len(diagonal))
        return np.argsort(-diagonal, kind="stable")


def compensated(
    weights: Float32[Array, "R C"],
    scales: Float32[Array, "R C"],
    factor: Float64[Array, "C C"],
    q: int,
) -> Any:
    """int8 codes (rows, cols), column after column; `factor` is U in the order of the columns.

    The compensated weight is float64; it is rounded to float32 once, and its code is that of plain
    rounding.
    """
    left = np.ascontiguousarray(weights.T, dtype=np.float64)
    codes = np.empty(left.shape, np.int8)
    for j in range(len(left)):
        with np.errstate(under="ignore"):
            value, scale = left[j].astype(np.float32), scales[:, j]
            found = codes_of(value[:, None, None], scale[:, None], q)[:, 0, 0]
            codes[j] = found
            error = (left[j] - (found * scale).astype(np.float64)) / factor[j, j]
            left[j + 1 :] -= factor[j, j + 1 :, None] * error
    return codes.T
