"""How a block format stores a row: what every rung needs to know of it, as data."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

#: Bits of one code and the width of a float's significand, hidden bit included, of dense formats.
DENSE = {"f32": (32, 24), "f16": (16, 11), "bf16": (16, 8)}


@dataclass(frozen=True)
class Storage:
    """A format with its scales.

    `group` columns share a scale (0: none), `scales` is fp16, bf16, e8m0, f32 or none, `zero` the
    scale word of a group of zeros, `fractions` the grid of a clipping search (empty: absmax).
    Codes are placed by `order`: `planes` (64 columns together), `pairs` (even column low) or
    `words` (one after the other).
    """

    name: str
    bits: int
    group: int
    scales: str
    order: str
    zero: int = 0
    fractions: tuple[float, ...] = ()

    @property
    def dense(self) -> bool:
        """Whether a code is a float by itself."""
        return self.name in DENSE

    @property
    def q(self) -> int:
        """The largest code of a format with scales."""
        return (1 << (self.bits - 1)) - 1

    @property
    def unit(self) -> int:
        """Columns that are placed together; a stored row holds a multiple of them."""
        return {"planes": 64, "pairs": 2, "words": 1}[self.order]

    @property
    def unit_bytes(self) -> int:
        """Bytes of a unit."""
        return self.unit * self.bits // 8

    def padded(self, cols: int) -> int:
        """Columns of a stored row."""
        return -(-cols // self.unit) * self.unit

    def row_bytes(self, cols: int) -> int:
        """Bytes of a stored row."""
        return self.padded(cols) // self.unit * self.unit_bytes

    def groups(self, cols: int) -> int:
        """Scales of a row."""
        return -(-cols // self.group) if self.group else 0


@cache
def bit_positions(bits: int, order: str) -> Array:
    """(unit, bits): where bit b of code c stands in the bytes of a unit, 8 x byte + bit."""
    unit = {"planes": 64, "pairs": 2, "words": 1}[order]
    return np.array([_places(c, bits, order) for c in range(unit)], np.intp)


def _places(c: int, bits: int, order: str) -> list[int]:
    if order != "planes" or bits == 8:
        return [bits * c + bit for bit in range(bits)]
    half, column = divmod(c, 32)
    places = [8 * column + 4 * half + bit for bit in range(4)]
    if bits == 5:
        places.append(256 + c)
    if bits == 6:
        quarter, byte = divmod(c, 16)
        places += [256 + 8 * byte + 2 * quarter, 256 + 8 * byte + 2 * quarter + 1]
    return places
