"""Codes and scales as data: what a calibrated quantizer decides, before any byte is packed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float32, Int8
from numpy.typing import NDArray

from trlm_lab.errors import QuantPlaneError
from trlm_lab.quant.grouped import UNIT, Grouped
from trlm_lab.quant.scale_words import Words

Array = NDArray[Any]


@dataclass(frozen=True)
class Coded:
    """Codes (rows, cols) without padding, and scale words (rows, groups)."""

    codes: Int8[Array, "R C"]
    words: Words

    def planes(self, form: Grouped, *, where: str = "") -> tuple[bytes, bytes]:
        """The two planes of the format; what no writer produces is refused.

        Raises:
            QuantPlaneError: scale words of another shape.
            QuantCodeError, QuantScaleError: as `Grouped.dequantize`.
        """
        rows, cols = self.codes.shape
        if self.words.shape != (rows, form.groups(cols)) or self.words.dtype != form.encoding.dtype:
            raise QuantPlaneError(
                where=where, plane="scales", got=self.words.nbytes, rows=rows, cols=cols,
                expected=rows * form.scale_row(cols),
            )  # fmt: skip
        padded = np.zeros((rows, -(-cols // UNIT) * UNIT), np.int8)
        padded[:, :cols] = self.codes
        codes, scales = form.pack(padded).tobytes(), self.words.tobytes()
        form.dequantize(memoryview(codes), memoryview(scales), rows, cols, where=where)
        return codes, scales

    def values(self, form: Grouped) -> Float32[Array, "R C"]:
        """float32(code) * float32(scale)."""
        factors = np.repeat(form.encoding.values(self.words), form.group, axis=1)
        out: NDArray[np.float32] = self.codes.astype(np.float32)
        out *= factors[:, : out.shape[1]]
        return out


def rounded(
    form: Grouped, weights: Float32[Array, "R C"], *, where: str = "", first_row: int = 0
) -> Coded:
    """What the format's own rounding and clipping give. Raises as `Grouped.quantize`."""
    rows, cols = weights.shape
    codes, scales = form.quantize(weights, where=where, first_row=first_row)
    stored = np.frombuffer(codes, np.uint8).reshape(rows, form.row_stride(cols))
    words = np.frombuffer(scales, form.encoding.dtype).reshape(rows, form.groups(cols))
    return Coded(form.unpack(stored)[:, :cols], words)


def joined(parts: list[Coded]) -> Coded:
    """Consecutive blocks of rows as one."""
    codes = np.concatenate([part.codes for part in parts])
    return Coded(codes, np.concatenate([part.words for part in parts]))
