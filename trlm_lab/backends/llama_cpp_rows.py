"""llama.cpp's quantizer and its decoders for rows, on the calling thread: a peer to measure.

The library is that of the installed package (`make peers`); the block types are ggml's own.
"""

from __future__ import annotations

import ctypes
from importlib import util
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trlm_lab.backends.llama_cpp import FIX, missing_part
from trlm_lab.errors import PeerMissingError

LIBRARY = "libggml-base.so"
#: Number of a block type in ggml, and columns of a block.
TYPES = {"Q4_0": (2, 32), "Q5_0": (6, 32), "Q8_0": (8, 32), "Q6_K": (14, 256)}


class GgmlRows:
    """The functions of the loaded library."""

    def __init__(self) -> None:
        found = missing_part()
        if found is not None:
            raise PeerMissingError(where=LIBRARY, peer="llama.cpp", detail=found, command=FIX)
        spec = util.find_spec("llama_cpp")
        folders = (spec and spec.submodule_search_locations) or [""]
        self._library = ctypes.CDLL(str(Path(folders[0]) / "lib" / LIBRARY))
        place, count = ctypes.c_void_p, ctypes.c_int64
        self._size = self._function("ggml_row_size", ctypes.c_size_t, [ctypes.c_int, count])
        arguments = [ctypes.c_int, place, place, count, count, count, place]
        self._quantize = self._function("ggml_quantize_chunk", ctypes.c_size_t, arguments)

    def _function(self, name: str, result: Any, arguments: list[Any]) -> Any:
        function = getattr(self._library, name)
        function.restype, function.argtypes = result, arguments
        return function

    def row_bytes(self, block: str, cols: int) -> int:
        """Bytes of a stored row; `cols` is a multiple of the block."""
        return int(self._size(TYPES[block][0], cols))

    def quantize(self, block: str, rows: NDArray[np.float32], out: NDArray[np.uint8]) -> None:
        """Rows (R, C) into `out` (R, row_bytes), without weights of importance."""
        count, cols = rows.shape
        number = TYPES[block][0]
        self._quantize(number, rows.ctypes.data, out.ctypes.data, 0, count, cols, None)

    def dequantize(self, block: str, stored: NDArray[np.uint8], out: NDArray[np.float32]) -> None:
        """Stored rows into `out` (R, C)."""
        place = ctypes.c_void_p
        decode = self._function(f"dequantize_row_{block[0].lower()}{block[1:]}", None,
                                [place, place, ctypes.c_int64])  # fmt: skip
        decode(stored.ctypes.data, out.ctypes.data, out.size)


def copy_bytes(source: NDArray[np.uint8], target: NDArray[np.uint8]) -> None:
    """The C library's memcpy of arrays that lie apart."""
    ctypes.memmove(target.ctypes.data, source.ctypes.data, source.nbytes)
