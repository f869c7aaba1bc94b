"""Unpack an artifact into float32 safetensors under the source's names, streamed."""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from pathlib import Path
from typing import Any, BinaryIO

from trlm_lab.pack.artifact_file import map_file
from trlm_lab.pack.progress import Progress, silent
from trlm_lab.pack.weights import row_slices
from trlm_lab.slm.numbers import TensorFlag
from trlm_lab.slm.read import SlmTensor, open_slm
from trlm_lab.slm.verify import verify_all


def unpack(path: Path, out: Path, *, progress: Progress = silent) -> str:
    """Write every tensor as float32; returns the SHA-256 of the file.

    Names are sorted and the header is that of the snapshots, so unpacking an f32 artifact gives
    its source file back. A tied head is left out: the configuration ties it. Every hash of the
    artifact is checked first, so that damage is named by its tensor; `out` is replaced whole or not
    at all.

    Raises:
        SlmError: the artifact is malformed or damaged.
        QuantScaleError, QuantCodeError, QuantPaddingError: planes that no writer produces.
    """
    slm = open_slm(map_file(path), where=path.name)
    verify_all(slm)
    stored = [t for t in slm.tensors if not t.flags & TensorFlag.tied]
    tensors = sorted(stored, key=lambda t: t.name)
    out.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(prefix=".tmp-", dir=out.parent)
    try:
        with os.fdopen(handle, "wb") as stream:
            digest = _write(stream, tensors, progress)
            stream.flush()
            os.fsync(stream.fileno())
        Path(temporary).replace(out)
    finally:
        Path(temporary).unlink(missing_ok=True)
    return digest


def _write(stream: BinaryIO, tensors: list[SlmTensor], progress: Progress) -> str:
    header = _header(tensors)
    digest = hashlib.sha256(header)
    stream.write(header)
    for done, tensor in enumerate(tensors):
        progress("unpack", done, len(tensors))
        for rows in row_slices(tensor):
            raw = rows.data.cast("B")
            stream.write(raw)
            digest.update(raw)
    progress("unpack", len(tensors), len(tensors))
    return digest.hexdigest()


def _header(tensors: list[SlmTensor]) -> bytes:
    """The safetensors header: u64 length, compact JSON, spaces up to a multiple of 8."""
    rows: dict[str, Any] = {"__metadata__": {"format": "pt"}}
    at = 0
    for tensor in tensors:
        end = at + 4 * tensor.rows * tensor.cols
        rows[tensor.name] = {"dtype": "F32", "shape": list(tensor.dims), "data_offsets": [at, end]}
        at = end
    text = json.dumps(rows, separators=(",", ":"), ensure_ascii=False).encode()
    text += b" " * (-len(text) % 8)
    return len(text).to_bytes(8, "little") + text
