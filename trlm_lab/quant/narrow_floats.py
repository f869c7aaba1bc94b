"""Matrices stored as narrower floats, without scales: what f16 and bf16 share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float32, UInt16
from numpy.typing import NDArray

from trlm_lab.errors import QuantNonFiniteError, QuantPlaneError, QuantRangeError

Array = NDArray[Any]


@dataclass(frozen=True)
class NarrowFloats:
    """Words of 16 bits, nearest to the float32 value, ties to even; subnormals are kept."""

    name: str
    largest: float
    narrow: Callable[[Float32[Array, "R C"]], UInt16[Array, "R C"]]
    widen: Callable[[UInt16[Array, "R C"]], Float32[Array, "R C"]]

    def row_stride(self, cols: int) -> int:
        """Bytes of a row."""
        return 2 * cols

    def groups(self, cols: int) -> int:
        """Scales of a row: none."""
        return 0

    def scale_row(self, cols: int) -> int:
        """Bytes of the scales of a row: none."""
        return 0

    def quantize(
        self, weights: Float32[Array, "R C"], *, where: str = "", first_row: int = 0
    ) -> tuple[bytes, bytes]:
        """The words of a float32 matrix (rows, cols), and no scales.

        Raises:
            QuantNonFiniteError: a NaN or infinity.
            QuantRangeError: a finite value that rounds to an infinity.
        """
        if not np.isfinite(weights).all():
            row, col = (int(i) for i in np.argwhere(~np.isfinite(weights))[0])
            raise QuantNonFiniteError(
                where=where, tensor=where, value=weights[row, col], row=first_row + row, column=col
            )
        words = self.narrow(weights)
        beyond = np.isinf(self.widen(words))
        if beyond.any():
            row, col = (int(i) for i in np.argwhere(beyond)[0])
            raise QuantRangeError(
                where=where, tensor=where, row=first_row + row, column=col,
                value=float(weights[row, col]), limit=self.largest,
            )  # fmt: skip
        return words.tobytes(), b""

    def dequantize(
        self,
        codes: memoryview,
        scales: memoryview,
        rows: int,
        cols: int,
        *,
        where: str = "",
        first_row: int = 0,
    ) -> Float32[Array, "{rows} {cols}"]:
        """The words as float32, exactly.

        Raises:
            QuantPlaneError: a plane of the wrong size.
            QuantNonFiniteError: a NaN or infinity.
        """
        for plane, got, expected in (
            ("codes", len(codes), rows * 2 * cols),
            ("scales", len(scales), 0),
        ):
            if got != expected:
                raise QuantPlaneError(
                    where=where, plane=plane, got=got, rows=rows, cols=cols, expected=expected
                )
        values = self.widen(np.frombuffer(codes, "<u2").reshape(rows, cols))
        if not np.isfinite(values).all():
            row, col = (int(i) for i in np.argwhere(~np.isfinite(values))[0])
            raise QuantNonFiniteError(
                where=where, tensor=where, value=values[row, col], row=first_row + row, column=col
            )
        return values
