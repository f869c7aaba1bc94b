"""A streaming safetensors writer: float32 tensors in sorted order, one chunk in memory."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trlm_lab.acquire.progress import Progress, silent
from trlm_lab.base.bits import first_nonfinite
from trlm_lab.errors import NonFiniteError, RecordError

F32 = NDArray[np.float32]

#: Elements of one chunk, about 16 MB of float32.
CHUNK_ELEMENTS = 4 << 20


@dataclass(frozen=True)
class PlannedTensor:
    """A tensor to be written: its shape, and a function that yields its values in C order."""

    shape: tuple[int, ...]
    chunks: Callable[[], Iterator[F32]]

    @property
    def elements(self) -> int:
        """Number of elements."""
        return math.prod(self.shape)


def write_safetensors(
    path: Path, tensors: Mapping[str, PlannedTensor], progress: Progress = silent
) -> dict[str, str]:
    """Write the file and return the SHA-256 of each tensor's bytes, by name.

    Raises:
        NonFiniteError: a value is NaN or infinite; `where` is the tensor.
        RecordError: the chunks hold more or fewer elements than the shape.
    """
    names = sorted(tensors)
    digests: dict[str, str] = {}
    with path.open("wb") as stream:
        stream.write(_header({name: tensors[name] for name in names}))
        for done, name in enumerate(names):
            progress("write tensors", done, len(names))
            digests[name] = _write_tensor(stream, name, tensors[name])
    progress("write tensors", len(names), len(names))
    return digests


def _header(tensors: Mapping[str, PlannedTensor]) -> bytes:
    row: dict[str, Any] = {"__metadata__": {"format": "pt"}}
    offset = 0
    for name, tensor in tensors.items():
        end = offset + 4 * tensor.elements
        row[name] = {"dtype": "F32", "shape": list(tensor.shape), "data_offsets": [offset, end]}
        offset = end
    text = json.dumps(row, separators=(",", ":"), ensure_ascii=False).encode()
    text += b" " * (-len(text) % 8)
    return len(text).to_bytes(8, "little") + text


def _write_tensor(stream: Any, name: str, tensor: PlannedTensor) -> str:
    digest = hashlib.sha256()
    written = 0
    for chunk in tensor.chunks():
        values = np.ascontiguousarray(chunk, dtype="<f4").reshape(-1)
        bad = first_nonfinite(values)
        if bad is not None:
            bits = f"{int(values[bad : bad + 1].view(np.uint32)[0]):08x}"
            raise NonFiniteError(where=name, index=written + bad, bits=bits)
        raw = values.view(np.uint8).data
        stream.write(raw)
        digest.update(raw)
        written += values.size
    if written != tensor.elements:
        detail = f"{written} elements came for the shape {list(tensor.shape)}"
        raise RecordError(where=name, detail=detail)
    return digest.hexdigest()
