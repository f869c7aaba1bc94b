"""What the scale encodings share: their protocol, and errors that name row, group and bits."""

from __future__ import annotations

from typing import Any, NoReturn, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Bool, Float32, UInt
from numpy.typing import NDArray

from trlm_lab.errors import QuantOverflowError, QuantScaleError

Array = NDArray[Any]
Words = UInt[Array, "R G"]


@runtime_checkable
class ScaleEncoding(Protocol):
    """Storage of positive scales, one unsigned little-endian word a group; zero is the word 0."""

    @property
    def name(self) -> str:
        """`fp16`, `bf16` or `e8m0`."""
        ...

    @property
    def dtype(self) -> np.dtype[Any]:
        """The stored word."""
        ...

    def choose(self, absmax: Float32[Array, "R G"], q: int, *, where: str, first_row: int) -> Words:
        """The word of absmax / q for each group; `absmax` is finite and not negative.

        A scale below the smallest normal number of the encoding is raised to it; 0 stays 0.

        Raises:
            QuantOverflowError: a scale that the encoding does not hold, or whose product with q
                is above float32.
        """
        ...

    def values(self, words: Words) -> Float32[Array, "R G"]:
        """The scales as float32, exactly."""
        ...

    def check(self, words: Words, q: int, *, where: str, first_row: int) -> None:
        """Refuse words that no writer produces.

        Raises:
            QuantScaleError: negative, -0.0, subnormal, not finite, or times q above float32.
        """
        ...


def overflow(
    bad: Bool[Array, "R G"],
    quotient: Float32[Array, "R G"],
    limit: float,
    *,
    where: str,
    first_row: int,
) -> None:
    """Raise QuantOverflowError for the first group of `bad`, if there is one."""
    if not bad.any():
        return
    row, group = (int(i) for i in np.argwhere(bad)[0])
    raise QuantOverflowError(
        where=where,
        tensor=where,
        row=first_row + row,
        group=group,
        value=float(quotient[row, group]),
        limit=limit,
    )


def refuse_scale(
    words: Words, values: Float32[Array, "R G"], at: tuple[int, int], why: str, *,
    where: str, first_row: int,
) -> NoReturn:  # fmt: skip
    """Raise QuantScaleError for one stored scale."""
    row, group = at
    digits = 2 * words.dtype.itemsize
    raise QuantScaleError(
        where=where,
        row=first_row + row,
        group=group,
        value=float(values[row, group]),
        bits=f"{int(words[row, group]):0{digits}x}",
        why=why,
    )


def refuse_first(
    rules: tuple[tuple[str, Bool[Array, "R G"]], ...],
    words: Words,
    values: Float32[Array, "R G"],
    *,
    where: str,
    first_row: int,
) -> None:
    """Refuse the first word that breaks a rule, rule by rule."""
    for why, bad in rules:
        if bad.any():
            row, group = (int(i) for i in np.argwhere(bad)[0])
            refuse_scale(words, values, (row, group), why, where=where, first_row=first_row)
