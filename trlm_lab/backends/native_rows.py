"""Rows of a block format packed and decoded by the native library, in place (docs/abi.md).

The bytes are those of the reference in `quant`; what the library refuses the reference is asked
for, whose errors name tensor, row and column.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from trlm_lab.backends.abi_host import Host, last_error
from trlm_lab.backends.build_native import wanted_build
from trlm_lab.backends.native import NativeHost
from trlm_lab.base.interfaces import BlockFormat, RowPacker
from trlm_lab.errors import InfrastructureError, PackerDisagreesError, RuntimeRefusedError
from trlm_lab.quant import Search
from trlm_lab.quant.clipping import Absmax
from trlm_lab.quant.grouped import Grouped
from trlm_lab.slm.numbers import DType, ScaleEncoding

F32 = NDArray[np.float32]
Bytes = NDArray[np.uint8]


class NativeRows:
    """A library whose memory is this process's own."""

    def __init__(self, host: NativeHost) -> None:
        self._host: Host = host

    def planes(self, form: Grouped, rows: int, cols: int) -> tuple[Bytes, Bytes]:
        """Room for codes (R, stride) and scales (R, bytes)."""
        codes = np.empty((rows, form.row_stride(cols)), np.uint8)
        return codes, np.empty((rows, form.scale_row(cols)), np.uint8)

    def pack(self, form: Grouped, rows: F32, codes: Bytes, scales: Bytes) -> None:
        """Pack rows (R, C) into planes as `planes` makes them; all arrays are contiguous.

        Raises:
            RuntimeRefusedError: a value that is not finite, or a scale that the encoding lacks.
        """
        count, cols = rows.shape
        grid = np.array(getattr(form.clipping, "fractions", ()), np.float32)
        self._call(
            "trlm_rows_pack", rows.ctypes.data, count, cols, *_numbers(form),
            grid.ctypes.data, grid.size, codes.ctypes.data, scales.ctypes.data,
        )  # fmt: skip

    def unpack(self, form: Grouped, codes: Bytes, scales: Bytes, out: F32) -> None:
        """Decode planes into `out` (R, C), float32; all arrays are contiguous.

        Raises:
            RuntimeRefusedError: a code or a scale that no writer stores.
        """
        count, cols = out.shape
        self._call(
            "trlm_rows_unpack", codes.ctypes.data, scales.ctypes.data, count, cols,
            *_numbers(form), out.ctypes.data,
        )  # fmt: skip

    def _call(self, name: str, *arguments: Any) -> None:
        if self._host.call(name, *arguments) != 0:
            raise last_error(self._host)


def _numbers(form: Grouped) -> tuple[int, int]:
    return int(DType[form.name]), int(ScaleEncoding[form.encoding.name])


def is_served(form: BlockFormat) -> bool:
    """Whether the library packs the format: a grouped one, by absmax or by a plain search."""
    return isinstance(form, Grouped) and type(form.clipping) in (Absmax, Search)


class NativePacker:
    """The `RowPacker` of a loaded library."""

    def __init__(self, host: NativeHost) -> None:
        self._rows = NativeRows(host)

    def __call__(
        self, form: BlockFormat, rows: F32, *, where: str, first_row: int
    ) -> tuple[bytes | memoryview, bytes]:
        """Planes of rows, with the bytes of `form.quantize` and its errors.

        Raises:
            PackerDisagreesError: the library refuses what the reference packs.
        """
        if not (isinstance(form, Grouped) and is_served(form) and rows.size):
            return form.quantize(rows, where=where, first_row=first_row)
        rows = np.ascontiguousarray(rows, np.float32)
        codes, scales = self._rows.planes(form, *rows.shape)
        try:
            self._rows.pack(form, rows, codes, scales)
        except RuntimeRefusedError as refusal:
            form.quantize(rows, where=where, first_row=first_row)
            raise PackerDisagreesError(where=where, detail=refusal.detail) from refusal
        return codes.reshape(-1).data, scales.tobytes()


def native_packer() -> RowPacker | None:
    """The packer of the library where it is built already; packing is no reason to compile it."""
    try:
        build = wanted_build()
    except InfrastructureError:
        return None
    return NativePacker(NativeHost(build.path)) if build.path.is_file() else None
