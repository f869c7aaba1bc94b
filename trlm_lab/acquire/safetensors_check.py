"""Whether a safetensors file may be used: its structure, then every value finite."""

from __future__ import annotations

from pathlib import Path
from typing import BinaryIO

import numpy as np

from trlm_lab.base.plain_file import open_plain
from trlm_lab.base.safetensors_header import TensorInfo, read_header
from trlm_lab.errors import NonFiniteError, Refused, SafetensorsTruncatedError

#: An element is NaN or infinite exactly when all bits of this mask are set (E4M3 has no infinity).
_EXPONENT = {
    "F64": ("<u8", 0x7FF0000000000000), "F32": ("<u4", 0x7F800000), "C64": ("<u4", 0x7F800000),
    "F16": ("<u2", 0x7C00), "BF16": ("<u2", 0x7F80),
    "F8_E5M2": ("u1", 0x7C), "F8_E4M3": ("u1", 0x7F), "F8_E8M0": ("u1", 0xFF),
}  # fmt: skip
#: A complex element is two numbers.
_PARTS = {"C64": 2}
_CHUNK = 1 << 20


def require_safetensors(path: Path) -> tuple[TensorInfo, ...]:
    """The tensors of a sound file, by offset, in constant memory beyond the header.

    Raises:
        SafetensorsError, JsonError, JsonDuplicateKeyError: the structure is broken.
        NonFiniteError: a weight is NaN or infinite.
    """
    try:
        tensors = read_header(path)
        with open_plain(path) as stream:
            for tensor in tensors:
                _require_finite(stream, path.name, tensor)
    except OSError as error:
        detail = f"unreadable: {error.strerror}"
        raise SafetensorsTruncatedError(where=path.name, detail=detail) from error
    return tensors


def check_safetensors(path: Path) -> list[dict[str, str]]:
    """Findings in the form that `trlm check` prints; none for a sound file."""
    try:
        require_safetensors(path)
    except Refused as error:
        return [error.as_finding()]
    return []


def _require_finite(stream: BinaryIO, file: str, tensor: TensorInfo) -> None:
    if tensor.dtype not in _EXPONENT or tensor.elements == 0:
        return
    name, mask = _EXPONENT[tensor.dtype]
    dtype, parts = np.dtype(name), _PARTS.get(tensor.dtype, 1)
    stream.seek(tensor.begin)
    numbers = tensor.elements * parts
    for first in range(0, numbers, _CHUNK):
        count = min(_CHUNK, numbers - first)
        raw = np.frombuffer(stream.read(count * dtype.itemsize), dtype)
        bad = (raw & dtype.type(mask)) == mask
        if bad.any():
            at = int(np.argmax(bad))
            bits = f"{int(raw[at]):0{2 * dtype.itemsize}x}"
            index = (first + at) // parts
            raise NonFiniteError(where=f"{file}:{tensor.name}", index=index, bits=bits)
