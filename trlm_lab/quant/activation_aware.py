"""Scales by the output error on calibration activations: an AWQ-like search for grouped formats.

    error(W') = sum over tokens of |(W - W') x|^2 = sum over rows r of e_r gram e_r^T

Of every group the scales of float32(absmax * fraction) are tried, as in a clipping search, but the
one is taken that lowers the error of the whole row's output most, given how all other groups are
stored at present. Groups go in ascending order, `sweeps` times; the start is plain rounding, so the
error on the calibration activations is never above that of plain rounding. With a Gram matrix that
is a multiple of the identity it is the clipping search.

AWQ (Lin et al., 2023) lowers the same error by scales of input channels that are folded into the
operator before; these formats have no such scales, and the operator before stays as it is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float32, Float64
from numpy.typing import NDArray

from trlm_lab.quant.clipping import codes_of
from trlm_lab.quant.coded import Coded, joined, rounded
from trlm_lab.quant.gram import ROWS, check_gram, product
from trlm_lab.quant.grouped import Grouped

Array = NDArray[Any]


@dataclass(frozen=True)
class ActivationAware:
    """`fractions` begin with 1; `sweeps` over the groups."""

    fractions: tuple[float, ...]
    sweeps: int

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
            QuantGramError: no Gram matrix of the columns.
            QuantNonFiniteError, QuantOverflowError: as `Grouped.quantize`.
        """
        check_gram(gram, weights.shape[1], where=where)
        parts = [
            self._rows(form, weights[low : low + ROWS], gram, where, low)
            for low in range(0, len(weights), ROWS)
        ]
        return joined(parts)

    def _rows(
        self,
        form: Grouped,
        weights: Float32[Array, "R C"],
        gram: Float64[Array, "C C"],
        where: str,
        first_row: int,
    ) -> Coded:
        coded = rounded(form, weights, where=where, first_row=first_row)
        codes, words = coded.codes.copy(), coded.words.copy()
        error = (weights - coded.values(form)).astype(np.float64)
        pull = product(error, gram)
        for _ in range(self.sweeps):
            for group in range(words.shape[1]):
                part = slice(group * form.group, min((group + 1) * form.group, weights.shape[1]))
                block = weights[:, part]
                found, best, moved = self._best(
                    form, block, error[:, part], pull[:, part], gram[part, part]
                )
                take = moved < 0
                if not take.any():
                    continue
                codes[take, part], words[take, group] = found[take], best[take]
                near = found.astype(np.float32) * form.encoding.values(best[:, None])
                step = np.where(
                    take[:, None], (block - near).astype(np.float64) - error[:, part], 0
                )
                error[:, part] += step
                pull += product(step, gram[part])
        return Coded(codes, words)

    def _best(
        self,
        form: Grouped,
        block: Float32[Array, "R N"],
        error: Float64[Array, "R N"],
        pull: Float64[Array, "R N"],
        gram: Float64[Array, "N N"],
    ) -> tuple[Any, Any, Any]:
        """Codes and scale word of the fraction with the least change of the error, and the change.

        change = d gram d^T + 2 d . pull, d the step from the present error of the group.
        """
        absmax = np.abs(block).max(axis=1, keepdims=True)
        found, best, least = None, None, None
        for fraction in self.fractions:
            with np.errstate(under="ignore"):
                reach = absmax * np.float32(fraction)
            words = form.encoding.choose(reach, form.q, where="", first_row=0)
            scales = form.encoding.values(words)
            codes = codes_of(block[:, None, :], scales, form.q)[:, 0]
            step = (block - codes * scales).astype(np.float64) - error
            change = np.add.accumulate((product(step, gram) + 2 * pull) * step, axis=1)[:, -1]
            codes = codes.astype(np.int8)
            if found is None or best is None or least is None:
                found, best, least = codes, words[:, 0], change
                continue
            better = change < least
            found[better], best[better], least[better] = (
                codes[better], words[better, 0], change[better],
            )  # fmt: skip
        return found, best, least
