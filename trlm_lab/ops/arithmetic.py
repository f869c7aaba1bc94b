"""What an evaluation profile fixes for the operators: element type and accumulation order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

MaskedRows = Literal["error", "zero"]
NormRounding = Literal["", "bf16-round-then-weight", "bf16-weight-then-round"]

#: Any floating-point array; its dtype is that of the arithmetic in force.
Array = NDArray[Any]


@dataclass(frozen=True)
class Arithmetic:
    """Element type and accumulation order of every operator.

    `lanes` is the number of accumulators of a sum: element i goes to lane i mod `lanes`, and the
    lanes are merged pairwise, the upper half onto the lower (`1` is one accumulator, ascending).
    None leaves the order open, so that a BLAS may serve: such a profile promises no bits.
    `threads` splits outputs, never a sum, so it does not change a bit. `masked_rows` says what a
    softmax row without a visible key is: an error, or zeros. `norm_rounding` names where a norm
    rounds to bfloat16; empty where it does not.
    """

    name: str
    dtype: np.dtype[Any]
    lanes: int | None
    threads: int = 1
    masked_rows: MaskedRows = "error"
    norm_rounding: NormRounding = ""

    def __post_init__(self) -> None:
        power_of_two = self.lanes is None or (self.lanes > 0 and self.lanes & (self.lanes - 1) == 0)
        if not power_of_two or self.threads < 1:
            raise ValueError(f"{self.name}: lanes is a power of two and threads at least 1")

    def array(self, values: ArrayLike) -> Array:
        """The values in the profile's element type."""
        return np.asarray(values, dtype=self.dtype)
