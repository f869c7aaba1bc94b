"""How far a group reaches before it is clipped: to its absmax, or to a fraction from a grid.

A clipping chooses the scale words of a block of rows. The search tries the scales of
float32(absmax * fraction) for the fractions of a declared grid, in its order, and keeps the first
with the smallest sum of squared errors. Errors are float64 of float32 differences, added in a
fixed binary tree (column c with column c + half), so that every machine picks the same scale.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float32, Float64
from numpy.typing import NDArray

from trlm_lab.quant.scale_words import ScaleEncoding, Words

Array = NDArray[Any]


@runtime_checkable
class Clipping(Protocol):
    """A rule that picks scales for groups of float32 weights."""

    def choose(
        self,
        groups: Float32[Array, "R G N"],
        absmax: Float32[Array, "R G"],
        q: int,
        encoding: ScaleEncoding,
        *,
        where: str,
        first_row: int,
    ) -> Words:
        """Scale words; `groups` has zeros behind the last column. Raises as `encoding.choose`."""
        ...


class Absmax:
    """No clipping: the largest magnitude is the largest code."""

    def choose(
        self,
        groups: Float32[Array, "R G N"],
        absmax: Float32[Array, "R G"],
        q: int,
        encoding: ScaleEncoding,
        *,
        where: str,
        first_row: int,
    ) -> Words:
        """The scale of absmax / q."""
        return encoding.choose(absmax, q, where=where, first_row=first_row)


@dataclass(frozen=True)
class Search:
    """The fraction of absmax, out of `fractions` (each a float32), with the least error."""

    fractions: tuple[float, ...]

    def choose(
        self,
        groups: Float32[Array, "R G N"],
        absmax: Float32[Array, "R G"],
        q: int,
        encoding: ScaleEncoding,
        *,
        where: str,
        first_row: int,
    ) -> Words:
        """The scale of the best fraction; ties go to the earlier one."""
        best, least = None, None
        for fraction in self.fractions:
            with np.errstate(under="ignore"):
                reach = absmax * np.float32(fraction)
            words = encoding.choose(reach, q, where=where, first_row=first_row)
            error = tree_sum(self._weighted(squared_error(groups, encoding.values(words), q)))
            if best is None or least is None:
                best, least = words, error
                continue
            better = error < least
            best[better], least[better] = words[better], error[better]
        assert best is not None
        return best

    def _weighted(self, squares: Float64[Array, "R G N"]) -> Float64[Array, "R G N"]:
        return squares


@dataclass(frozen=True)
class Weighted(Search):
    """As `Search`, each square times the weight of its column; `columns` has one for each."""

    columns: Float64[Array, " C"]

    def _weighted(self, squares: Float64[Array, "R G N"]) -> Float64[Array, "R G N"]:
        weights = np.zeros(squares.shape[1:])
        weights.reshape(-1)[: len(self.columns)] = self.columns
        return squares * weights


def codes_of(groups: Float32[Array, "R G N"], scales: Float32[Array, "R G"], q: int) -> Any:
    """clamp(round_ties_even(x / scale)) as float32; true division; 0 where the scale is 0."""
    divisors = np.where(scales == 0, np.float32(1), scales)[:, :, None]
    with np.errstate(under="ignore"):
        codes = groups / divisors
    np.rint(codes, out=codes)
    codes = np.clip(codes, -q, q, out=codes)
    codes[scales == 0] = 0
    return codes


def squared_error(groups: Float32[Array, "R G N"], scales: Float32[Array, "R G"], q: int) -> Any:
    """(x - float32(code * scale))^2 in float64, the difference in float32."""
    with np.errstate(under="ignore"):
        near = codes_of(groups, scales, q) * scales[:, :, None]
        return np.square((groups - near).astype(np.float64))


def tree_sum(values: Float64[Array, "R G N"]) -> Float64[Array, "R G"]:
    """Sum over the last axis, whose length is a power of two, halving it again and again."""
    while values.shape[-1] > 1:
        half = values.shape[-1] // 2
        values = values[..., :half] + values[..., half:]
    return values[..., 0]
