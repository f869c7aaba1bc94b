"""A safetensors file of float32 tensors, streamed; `out` is replaced whole or not at all."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from trlm_lab.base.unfinished import replacing
from trlm_lab.pack.progress import Progress, silent


def write_float32(
    out: Path,
    shapes: Mapping[str, tuple[int, ...]],
    blocks: Iterable[NDArray[np.float32]],
    *,
    progress: Progress = silent,
) -> str:
    """Write tensors of these names and shapes, in this order; returns the file's SHA-256.

    `blocks` are the values of all of them one after the other, cut anywhere.
    """
    with replacing(out) as stream:
        return _write(stream, shapes, blocks, progress)


def _write(
    stream: BinaryIO,
    shapes: Mapping[str, tuple[int, ...]],
    blocks: Iterable[NDArray[np.float32]],
    progress: Progress,
) -> str:
    header = _header(shapes)
    total = 4 * sum(math.prod(shape) for shape in shapes.values())
    digest, done = hashlib.sha256(header), 0
    stream.write(header)
    for rows in blocks:
        raw = np.ascontiguousarray(rows, dtype="<f4").data.cast("B")
        stream.write(raw)
        digest.update(raw)
        done += len(raw)
        progress("unpack", done, total)
    return digest.hexdigest()


def _header(shapes: Mapping[str, tuple[int, ...]]) -> bytes:
    """The safetensors header: u64 length, compact JSON, spaces up to a multiple of 8."""
    rows: dict[str, Any] = {"__metadata__": {"format": "pt"}}
    at = 0
    for name, shape in shapes.items():
        end = at + 4 * math.prod(shape)
        rows[name] = {"dtype": "F32", "shape": list(shape), "data_offsets": [at, end]}
        at = end
    text = json.dumps(rows, separators=(",", ":"), ensure_ascii=False).encode()
    text += b" " * (-len(text) % 8)
    return len(text).to_bytes(8, "little") + text
