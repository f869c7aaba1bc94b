"""llama.cpp's own quantizers, through the library that llama-cpp-python brings.

Rows are quantized as `llama-quantize --pure` does, with an importance matrix or without.
"""

from __future__ import annotations

import ctypes
import importlib.util
from functools import cache
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from trlm_lab.errors import PeerMissingError, UnknownNameError

#: ggml's numbers of its types, with columns and bytes of a block.
TYPES: Final = {
    "Q4_0": (2, 32, 18),
    "Q5_0": (6, 32, 22),
    "Q8_0": (8, 32, 34),
    "Q6_K": (14, 256, 210),
}


@cache
def _library() -> ctypes.CDLL:
    # The package is found, not imported: only one library of it is wanted.
    found = importlib.util.find_spec("llama_cpp")
    if found is None or found.origin is None:
        raise PeerMissingError(
            where="ggml", peer="llama.cpp", detail="no package llama_cpp", command="make peers"
        )
    library = ctypes.CDLL(str(Path(found.origin).parent / "lib" / "libggml-base.so"))
    library.ggml_quantize_chunk.restype = ctypes.c_size_t
    library.ggml_quantize_chunk.argtypes = [
        ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64,
        ctypes.c_int64, ctypes.c_void_p,
    ]  # fmt: skip
    return library


def ggml_quantize(
    weights: NDArray[np.float32], type_name: str, importance: NDArray[np.float32] | None = None
) -> NDArray[np.uint8]:
    """The blocks of a matrix (rows, cols) in a type of ggml, shape (rows, bytes of a row).

    `importance` has the mean square of every input channel (cols); Q8_0 passes it over.

    Raises:
        PeerMissingError: llama-cpp-python is not installed.
        UnknownNameError: another type, or columns that are not whole blocks.
    """
    if type_name not in TYPES:
        raise UnknownNameError(kind="ggml type", name=type_name, known=", ".join(TYPES))
    number, columns, size = TYPES[type_name]
    rows, cols = weights.shape
    if cols % columns:
        known = f"{type_name} of a multiple of {columns} columns"
        raise UnknownNameError(kind="block layout", name=f"{cols} columns", known=known)
    source = np.ascontiguousarray(weights, np.float32)
    out = np.empty((rows, cols // columns * size), np.uint8)
    given = None if importance is None else np.ascontiguousarray(importance, np.float32)
    if given is not None and given.shape != (cols,):
        raise UnknownNameError(kind="importance of", name=str(given.shape), known=f"({cols},)")
    pointer = None if given is None else given.ctypes.data
    _library().ggml_quantize_chunk(
        number, source.ctypes.data, out.ctypes.data, 0, rows, cols, pointer
    )
    return out


def ggml_values(blocks: NDArray[np.uint8], type_name: str) -> NDArray[np.float32]:
    """The float32 values of blocks, by the `gguf` package.

    Raises:
        PeerMissingError: the package is not installed.
    """
    try:
        from gguf import GGMLQuantizationType, quants
    except ImportError as error:
        raise PeerMissingError(
            where="ggml", peer="gguf", detail=str(error), command="make peers"
        ) from error
    values: NDArray[np.float32] = quants.dequantize(blocks, GGMLQuantizationType[type_name])
    return values
