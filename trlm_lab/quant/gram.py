"""Gram matrices of calibration activations, and linear algebra that gives the same bits anywhere.

    gram[i, j] = sum over tokens of x[t, i] * x[t, j]          x the input of a matrix, y = W x

Every sum below is one float64 product and one float64 sum an element, in a fixed order, by
elementwise operations alone: no library decides about blocks, threads or fused products.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from jaxtyping import Float64
from numpy.typing import NDArray

from trlm_lab.errors import QuantGramError

Array = NDArray[Any]
#: Rows worked on at a time, so that their columns stay in the cache.
ROWS = 128


def check_gram(gram: Float64[Array, "N N"], cols: int, *, where: str) -> None:
    """Refuse what is no Gram matrix of `cols` input channels.

    Raises:
        QuantGramError: another shape, a value that is not finite, no symmetry, a negative diagonal.
    """
    if gram.shape != (cols, cols):
        raise QuantGramError(
            where=where, why=f"of shape {gram.shape}, the tensor has {cols} columns"
        )
    if not np.isfinite(gram).all():
        raise QuantGramError(where=where, why="not finite")
    if not np.array_equal(gram, gram.T):
        raise QuantGramError(where=where, why="not symmetric")
    if (np.diagonal(gram) < 0).any():
        raise QuantGramError(where=where, why="negative on its diagonal")


def damped(gram: Float64[Array, "C C"], damping: float) -> Float64[Array, "C C"]:
    """gram + damping * mean(diagonal) * identity; the identity where the diagonal is zero.

    The mean is a sum in ascending order over C.
    """
    mean = float(np.add.accumulate(np.diagonal(gram))[-1]) / len(gram)
    if mean == 0:
        return np.eye(len(gram))
    out = gram.copy()
    out[np.diag_indices_from(out)] += damping * mean
    return out


def inverse_factor(gram: Float64[Array, "C C"], *, where: str) -> Float64[Array, "C C"]:
    """The upper triangular U with gram^-1 = U^T U.

    gram = M M^T with M upper triangular, columns from the last to the first; U = M^-1.

    Raises:
        QuantGramError: the matrix is not positive definite.
    """
    left = gram.copy()
    factor = np.zeros_like(gram)
    for j in range(len(gram) - 1, -1, -1):
        if not left[j, j] > 0:
            raise QuantGramError(where=where, why=f"not positive definite at column {j}")
        factor[: j + 1, j] = left[: j + 1, j] / np.sqrt(left[j, j])
        left[:j, :j] -= factor[:j, j, None] * factor[None, :j, j]
    inverse = np.eye(len(gram))
    for k in range(len(gram) - 1, -1, -1):
        inverse[k, k:] /= factor[k, k]
        inverse[:k, k:] -= factor[:k, k, None] * inverse[None, k, k:]
    return inverse


def product(left: Float64[Array, "R C"], right: Float64[Array, "C N"]) -> Float64[Array, "R N"]:
    """left @ right, every element a sum over ascending c."""
    out = np.zeros((left.shape[0], right.shape[1]))
    for c in range(right.shape[0]):
        out += left[:, c, None] * right[None, c]
    return out


def output_error(error: Float64[Array, "R C"], gram: Float64[Array, "C C"]) -> float:
    """Sum over tokens of |W x - W' x|^2, where `error` is W - W': e gram e^T over all rows."""
    total = 0.0
    for low in range(0, len(error), ROWS):
        part = error[low : low + ROWS]
        terms = (product(part, gram) * part).reshape(-1)
        total = float(np.add.accumulate(np.concatenate([[total], terms]))[-1])
    return total
