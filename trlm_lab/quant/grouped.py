"""Symmetric codes in groups along the row, one scale a group: what q4, q5, q6 and q8 share.

    scale = encoding(absmax / Q)                the encoding's rules; a clipping may lower absmax
    code  = clamp(round_ties_even(x / float32(scale)), -Q, Q)    float32 division, Q = 2^(bits-1)-1
    w     = float32(code) * float32(scale)      one rounding

Two planes: codes, rows padded with zero codes to a multiple of 64 columns and packed 64 by 64;
scales, little-endian [rows][ceil(cols / group)]. An all-zero group has scale 0 and codes 0.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from jaxtyping import Float32, Int8, UInt8
from numpy.typing import NDArray

from trlm_lab.errors import (
    QuantCodeError,
    QuantNonFiniteError,
    QuantPaddingError,
    QuantPlaneError,
)
from trlm_lab.quant.clipping import Absmax, Clipping, codes_of
from trlm_lab.quant.half_scales import HalfScales
from trlm_lab.quant.scale_words import ScaleEncoding, Words, refuse_scale

Array = NDArray[Any]

HALF: Final = HalfScales()
ABSMAX: Final = Absmax()
#: Columns that are packed together; stored rows hold a multiple of them.
UNIT: Final = 64
#: Elements worked on at a time, so that temporaries stay in the cache.
CHUNK: Final = 1 << 18


@dataclass(frozen=True)
class Packing:
    """Codes of units of 64 columns to bytes and back; `unit_bytes` a unit."""

    unit_bytes: int
    pack: Callable[[Int8[Array, "N 64"]], UInt8[Array, "N B"]]
    unpack: Callable[[UInt8[Array, "N B"]], Int8[Array, "N 64"]]


@dataclass(frozen=True)
class Grouped:
    """A block format; `name` without the scale encoding, which is a parameter of its own."""

    name: str
    bits: int
    group: int
    packing: Packing
    encoding: ScaleEncoding = HALF
    clipping: Clipping = ABSMAX

    @property
    def q(self) -> int:
        """The largest code."""
        return (1 << (self.bits - 1)) - 1

    def row_stride(self, cols: int) -> int:
        """Bytes of a padded row of codes."""
        return -(-cols // UNIT) * self.packing.unit_bytes

    def groups(self, cols: int) -> int:
        """Scales of a row."""
        return -(-cols // self.group)

    def scale_row(self, cols: int) -> int:
        """Bytes of the scales of a row."""
        return self.groups(cols) * self.encoding.dtype.itemsize

    def quantize(
        self, weights: Float32[Array, "R C"], *, where: str = "", first_row: int = 0
    ) -> tuple[bytes, bytes]:
        """Codes and scales of a float32 matrix (rows, cols).

        Rows are independent: planes of row slices, joined, are the planes of the whole. `where`
        names the tensor in errors, `first_row` is the index of row 0 in it.

        Raises:
            QuantNonFiniteError: a NaN or infinity.
            QuantOverflowError: a group whose scale the encoding does not hold.
        """
        rows, cols = weights.shape
        codes = np.empty((rows, self.row_stride(cols)), dtype=np.uint8)
        scales = np.empty((rows, self.groups(cols)), dtype=self.encoding.dtype)
        for low, high in _row_chunks(rows, cols):
            found, words = self._quantize_rows(weights[low:high], where, first_row + low)
            codes[low:high] = self.pack(found)
            scales[low:high] = words
        return codes.tobytes(), scales.tobytes()

    def _quantize_rows(
        self, part: Float32[Array, "R C"], where: str, first_row: int
    ) -> tuple[Int8[Array, "R P"], Words]:
        """Codes, padded to whole units, and scale words."""
        rows, cols = part.shape
        groups = np.zeros((rows, self.groups(cols), self.group), np.float32)
        groups.reshape(rows, -1)[:, :cols] = part
        absmax = np.abs(groups).max(axis=2)
        _check_finite(absmax, part, where, first_row)
        words = self.clipping.choose(
            groups, absmax, self.q, self.encoding, where=where, first_row=first_row
        )
        codes = codes_of(groups, self.encoding.values(words), self.q)
        padded = -(-cols // UNIT) * UNIT
        return codes.reshape(rows, -1)[:, :padded].astype(np.int8), words

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
        """float32(code) * float32(scale), shape (rows, cols); refuses what no writer produces.

        Raises:
            QuantPlaneError: a plane of the wrong size.
            QuantScaleError: a scale that the encoding never writes, or 0 with a code.
            QuantCodeError: the lowest code, which is never written.
            QuantPaddingError: a nonzero code beyond the last column.
        """
        stored, words = self._planes(codes, scales, rows, cols, where)
        out = np.empty((rows, cols), dtype=np.float32)
        for low, high in _row_chunks(rows, cols):
            at = first_row + low
            part = self.unpack(stored[low:high])
            self._check_codes(part, cols, where, at)
            self.encoding.check(words[low:high], self.q, where=where, first_row=at)
            factors = self.encoding.values(words[low:high])
            self._check_zero_groups(part[:, :cols], words[low:high], factors, where, at)
            out[low:high] = part[:, :cols]
            self._scale_in_place(out[low:high], factors)
        return out

    def pack(self, codes: Int8[Array, "R P"]) -> UInt8[Array, "R S"]:
        """Packed rows of padded codes."""
        return self.packing.pack(codes.reshape(-1, UNIT)).reshape(len(codes), -1)

    def unpack(self, stored: UInt8[Array, "R S"]) -> Int8[Array, "R P"]:
        """Padded codes of packed rows."""
        units = stored.reshape(-1, self.packing.unit_bytes)
        return self.packing.unpack(units).reshape(len(stored), -1)

    def _planes(
        self, codes: memoryview, scales: memoryview, rows: int, cols: int, where: str
    ) -> tuple[UInt8[Array, "R S"], Words]:
        for plane, got, width in (
            ("codes", len(codes), self.row_stride(cols)),
            ("scales", len(scales), self.scale_row(cols)),
        ):
            if got != rows * width:
                raise QuantPlaneError(
                    where=where, plane=plane, got=got, rows=rows, cols=cols, expected=rows * width
                )
        stored = np.frombuffer(codes, dtype=np.uint8).reshape(rows, self.row_stride(cols))
        words = np.frombuffer(scales, dtype=self.encoding.dtype)
        return stored, words.reshape(rows, self.groups(cols))

    def _check_codes(
        self, codes: Int8[Array, "R P"], cols: int, where: str, first_row: int
    ) -> None:
        lowest = -self.q - 1
        if codes.min(initial=0) == lowest:
            row, col = (int(i) for i in np.argwhere(codes == lowest)[0])
            raise QuantCodeError(
                where=where, row=first_row + row, column=col, value=lowest, why=f"below {-self.q}"
            )
        if codes[:, cols:].any():
            row, col = (int(i) for i in np.argwhere(codes[:, cols:])[0])
            raise QuantPaddingError(
                where=where,
                row=first_row + row,
                column=cols + col,
                cols=cols,
                value=int(codes[row, cols + col]),
            )

    def _check_zero_groups(
        self,
        codes: Int8[Array, "R C"],
        words: Words,
        factors: Float32[Array, "R G"],
        where: str,
        first_row: int,
    ) -> None:
        for row, group in np.argwhere(factors == 0).tolist():
            if codes[row, group * self.group : (group + 1) * self.group].any():
                why, at = "0 with a nonzero code", (row, group)
                refuse_scale(words, factors, at, why, where=where, first_row=first_row)

    def _scale_in_place(
        self, values: Float32[Array, "R C"], factors: Float32[Array, "R G"]
    ) -> None:
        """Multiply each group by its factor; every product is rounded once."""
        for group in range(factors.shape[1]):
            low = group * self.group
            values[:, low : low + self.group] *= factors[:, group : group + 1]


def _row_chunks(rows: int, cols: int) -> Iterator[tuple[int, int]]:
    step = max(1, CHUNK // max(cols, 1))
    for low in range(0, rows, step):
        yield low, min(low + step, rows)


def _check_finite(
    absmax: Float32[Array, "R G"], part: Float32[Array, "R C"], where: str, first_row: int
) -> None:
    if not np.isfinite(absmax).all():
        row, col = (int(i) for i in np.argwhere(~np.isfinite(part))[0])
        raise QuantNonFiniteError(
            where=where, tensor=where, value=part[row, col], row=first_row + row, column=col
        )
