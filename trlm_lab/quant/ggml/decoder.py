"""A format of ggml: the record of a block, and its float32 values."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float32, UInt8
from numpy.typing import NDArray

from trlm_lab.errors import ShapeMismatchError

Array = NDArray[Any]
#: Blocks of a record dtype, shape (N,), to values of shape (N, elements).
Values = Callable[[Array], Float32[Array, "N E"]]


@dataclass(frozen=True)
class GgmlDecoder:
    """`elements` columns a block, stored as one `record`."""

    name: str
    elements: int
    record: np.dtype[Any]
    values: Values

    def decode(self, rows: UInt8[Array, "R B"]) -> Float32[Array, "R C"]:
        """Values of stored rows. What is not finite is passed on: who writes it names its place.

        Raises:
            ShapeMismatchError: a row is no whole number of blocks.
        """
        size = self.record.itemsize
        if rows.shape[1] % size:
            raise ShapeMismatchError(
                where=self.name, name="rows", got=rows.shape, expected=f"(R, n x {size} bytes)"
            )
        blocks = np.ascontiguousarray(rows).reshape(-1).view(self.record)
        with np.errstate(over="ignore", invalid="ignore"):
            values = self.values(blocks)
        columns = rows.shape[1] // size * self.elements
        return np.ascontiguousarray(values, np.float32).reshape(rows.shape[0], columns)


def single(halves: Array) -> Float32[Array, "N 1"]:
    """binary16 fields of blocks as a column of float32, exactly."""
    return halves.astype(np.float32)[:, None]


def nibbles(packed: UInt8[Array, "N B"], run: int) -> UInt8[Array, "N E"]:
    """Of every `run` bytes first all low nibbles, then all high ones."""
    parts = packed.reshape(len(packed), -1, run)
    return np.stack((parts & 0x0F, parts >> 4), axis=2).reshape(len(packed), -1)
