"""q8_r128: symmetric 8-bit codes in groups of 128 along the row, one binary16 scale a group.

    scale = binary16(absmax / 127)              rules of `half_scales`
    code  = clamp(round_ties_even(x / float32(scale)), -127, 127)    float32 division
    w     = float32(code) * float32(scale)      one rounding

Codes plane: int8, rows padded with zeros to a multiple of 64 columns. Scales plane: little-endian
binary16, [rows][ceil(cols / 128)]. Only the last group may be shorter. An all-zero group has scale
0 and codes 0. The profile is data/profiles/quantization/q8_r128.json.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import numpy as np
from jaxtyping import Float16, Float32, Int8, UInt16
from numpy.typing import NDArray

from trlm_lab.errors import (
    QuantCodeError,
    QuantNonFiniteError,
    QuantPaddingError,
    QuantPlaneError,
)
from trlm_lab.quant.half_scales import check_half_scales, half_scales, refuse_scale

Array = NDArray[Any]

GROUP: Final = 128
ROW_UNIT: Final = 64
Q: Final = 127
#: Elements worked on at a time, so that temporaries stay in the cache.
CHUNK: Final = 1 << 18


def row_stride(cols: int) -> int:
    """Bytes of a padded row of codes."""
    return -(-cols // ROW_UNIT) * ROW_UNIT


def groups_of(cols: int) -> int:
    """Scales of a row."""
    return -(-cols // GROUP)


def _row_chunks(rows: int, cols: int) -> Iterator[tuple[int, int]]:
    step = max(1, CHUNK // max(cols, 1))
    for low in range(0, rows, step):
        yield low, min(low + step, rows)


class Q8R128:
    """The block format; see the module."""

    name = "q8_r128"

    def row_stride(self, cols: int) -> int:
        """Bytes of a padded row of codes."""
        return row_stride(cols)

    def groups(self, cols: int) -> int:
        """Scales of a row."""
        return groups_of(cols)

    def quantize(
        self, weights: Float32[Array, "R C"], *, where: str = "", first_row: int = 0
    ) -> tuple[bytes, bytes]:
        """Codes and scales of a float32 matrix (rows, cols).

        Rows are independent: planes of row slices, joined, are the planes of the whole. `where`
        names the tensor in errors, `first_row` is the index of row 0 in it.

        Raises:
            QuantNonFiniteError: a NaN or infinity.
            QuantOverflowError: a group whose scale does not fit binary16.
        """
        rows, cols = weights.shape
        codes = np.zeros((rows, row_stride(cols)), dtype=np.int8)
        scales = np.zeros((rows, groups_of(cols)), dtype="<f2")
        for low, high in _row_chunks(rows, cols):
            part = weights[low:high]
            scales[low:high] = _scales(part, where, first_row + low)
            codes[low:high, :cols] = _codes(part, scales[low:high])
        return codes.tobytes(), scales.tobytes()

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
            QuantScaleError: a negative, -0.0, subnormal or non-finite scale, or 0 with a code.
            QuantCodeError: the code -128.
            QuantPaddingError: a nonzero code beyond the last column.
        """
        stored, bits = _planes(codes, scales, rows, cols, where)
        out = np.empty((rows, cols), dtype=np.float32)
        for low, high in _row_chunks(rows, cols):
            at = first_row + low
            _check_codes(stored[low:high], cols, where, at)
            check_half_scales(bits[low:high], where=where, first_row=at)
            factors = bits[low:high].view("<f2").astype(np.float32)
            _check_zero_groups(stored[low:high, :cols], factors, where, at)
            out[low:high] = stored[low:high, :cols]
            _scale_in_place(out[low:high], factors)
        return out


def _scales(part: Float32[Array, "R C"], where: str, first_row: int) -> Float16[Array, "R G"]:
    starts = np.arange(0, part.shape[1], GROUP)
    top = np.maximum.reduceat(part, starts, axis=1)
    bottom = np.minimum.reduceat(part, starts, axis=1)
    # abs: the larger of +0.0 and -0.0 may be -0.0, which would become the scale's sign.
    absmax = np.abs(np.maximum(top, -bottom))
    if not np.isfinite(absmax).all():
        row, col = (int(i) for i in np.argwhere(~np.isfinite(part))[0])
        raise QuantNonFiniteError(
            where=where, tensor=where, value=part[row, col], row=first_row + row, column=col
        )
    return half_scales(absmax, Q, where=where, first_row=first_row)


def _codes(part: Float32[Array, "R C"], scales: Float16[Array, "R G"]) -> Float32[Array, "R C"]:
    divisors = scales.astype(np.float32)
    # An all-zero group has scale 0; any divisor gives its codes 0.
    divisors[divisors == 0] = 1
    codes = part / np.repeat(divisors, GROUP, axis=1)[:, : part.shape[1]]
    np.rint(codes, out=codes)
    return np.clip(codes, -Q, Q, out=codes)


def _scale_in_place(values: Float32[Array, "R C"], factors: Float32[Array, "R G"]) -> None:
    """Multiply each group by its factor."""
    whole = values.shape[1] // GROUP * GROUP
    for group in range(factors.shape[1]):
        low = group * GROUP
        high = low + GROUP if low < whole else values.shape[1]
        values[:, low:high] *= factors[:, group : group + 1]


def _planes(
    codes: memoryview, scales: memoryview, rows: int, cols: int, where: str
) -> tuple[Int8[Array, "R S"], UInt16[Array, "R G"]]:
    for plane, got, width in (
        ("codes", len(codes), row_stride(cols)),
        ("scales", len(scales), 2 * groups_of(cols)),
    ):
        if got != rows * width:
            raise QuantPlaneError(
                where=where, plane=plane, got=got, rows=rows, cols=cols, expected=rows * width
            )
    stored = np.frombuffer(codes, dtype=np.int8).reshape(rows, row_stride(cols))
    return stored, np.frombuffer(scales, dtype="<u2").reshape(rows, groups_of(cols))


def _check_codes(stored: Int8[Array, "R S"], cols: int, where: str, first_row: int) -> None:
    if stored.min(initial=0) == -128:
        row, col = (int(i) for i in np.argwhere(stored == -128)[0])
        raise QuantCodeError(
            where=where, row=first_row + row, column=col, value=-128, why="below -127"
        )
    if stored[:, cols:].any():
        row, col = (int(i) for i in np.argwhere(stored[:, cols:])[0])
        raise QuantPaddingError(
            where=where,
            row=first_row + row,
            column=cols + col,
            cols=cols,
            value=int(stored[row, cols + col]),
        )


def _check_zero_groups(
    stored: Int8[Array, "R C"], factors: Float32[Array, "R G"], where: str, first_row: int
) -> None:
    for row, group in np.argwhere(factors == 0):
        if stored[row, group * GROUP : (group + 1) * GROUP].any():
            refuse_scale(0, first_row + int(row), int(group), "0 with a nonzero code", where)
