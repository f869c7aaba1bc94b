"""The storage forms of SLM1, by dtype number."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from trlm_lab.slm1 import dense, q4_0, q8_0

F32 = NDArray[np.float32]


class DType(IntEnum):
    """Numbers of the directory."""

    f32 = 1
    q8_0 = 2
    q4_0 = 3


class Check(Protocol):
    """Refuses rows that no writer produces."""

    def __call__(
        self, data: memoryview, scales: memoryview, cols: int, block: int, where: str, row: int
    ) -> None:
        """`row` is the index of the first of the rows. Raises Slm1Error."""
        ...


@dataclass(frozen=True)
class Codec:
    """How rows of float32 become bytes and back.

    `row_bytes(cols)`, `encode(rows, block) -> (data, scales)`, `decode(data, scales, cols, block)`;
    rows are independent, so that slices of a tensor, joined, are the tensor.
    """

    dtype: DType
    row_bytes: Callable[[int], int]
    encode: Callable[[F32, int], tuple[bytes, bytes]]
    decode: Callable[[memoryview, memoryview, int, int], F32]
    check: Check

    def block_of(self, cols: int, asked: int) -> int:
        """The block size that the directory says: 0, the columns, or the one asked for."""
        return {DType.f32: 0, DType.q8_0: cols, DType.q4_0: asked}[self.dtype]

    def scale_bytes(self, cols: int, block: int) -> int:
        """Bytes of a row's scales."""
        return 4 * (cols // block) if block else 0


CODECS: dict[DType, Codec] = {
    DType.f32: Codec(DType.f32, dense.row_bytes, dense.encode, dense.decode, dense.check),
    DType.q8_0: Codec(DType.q8_0, q8_0.row_bytes, q8_0.encode, q8_0.decode, q8_0.check),
    DType.q4_0: Codec(DType.q4_0, q4_0.row_bytes, q4_0.encode, q4_0.decode, q4_0.check),
}
#: Block size of q4_0 that the writer uses unless it is told another one.
Q4_BLOCK = 32
