"""Unpack an artifact into float32 safetensors under the source's names and shapes, streamed."""

from __future__ import annotations

import hashlib
import json
import math
import os
import tempfile
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from trlm_lab.base.model_parts import HEAD
from trlm_lab.base.records import EffectiveConfig
from trlm_lab.base.source_tensors import SourceTensor, source_tensors
from trlm_lab.pack.artifact_file import map_file
from trlm_lab.pack.inverse import source_rows
from trlm_lab.pack.progress import Progress, silent
from trlm_lab.slm.read import SlmFile, open_slm
from trlm_lab.slm.verify import verify_all


def unpack(path: Path, out: Path, *, progress: Progress = silent) -> str:
    """Write every tensor of the source as float32; returns the SHA-256 of the file.

    The steps from source to artifact are undone: joined tensors are joined again, transposed ones
    turned back. Names are sorted and the header is that of the snapshots, so unpacking an f32
    artifact gives its source file back. A tied head is left out: the configuration ties it. Every
    hash of the artifact is checked first, so that damage is named by its tensor; `out` is replaced
    whole or not at all.

    Raises:
        SlmError: the artifact is malformed or damaged.
        RecordError: its configuration is none.
        QuantScaleError, QuantCodeError, QuantPaddingError: planes that no writer produces.
    """
    slm = open_slm(map_file(path), where=path.name)
    verify_all(slm)
    sources = _stored(EffectiveConfig.from_map(slm.config))
    out.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(prefix=".tmp-", dir=out.parent)
    try:
        with os.fdopen(handle, "wb") as stream:
            digest = _write(stream, slm, sources, progress)
            stream.flush()
            os.fsync(stream.fileno())
        Path(temporary).replace(out)
    finally:
        Path(temporary).unlink(missing_ok=True)
    return digest


def _stored(config: EffectiveConfig) -> list[SourceTensor]:
    """What the source stores, sorted by name, without a tied head."""
    tied = {HEAD} if config.tie_word_embeddings else set()
    rows = [source for source in source_tensors(config) if source.name not in tied]
    return sorted(rows, key=lambda source: source.name)


def _write(stream: BinaryIO, slm: SlmFile, sources: list[SourceTensor], progress: Progress) -> str:
    header = _header(sources)
    digest = hashlib.sha256(header)
    stream.write(header)
    for done, source in enumerate(sources):
        progress("unpack", done, len(sources))
        for rows in source_rows(slm, source):
            raw = np.ascontiguousarray(rows, dtype="<f4").data.cast("B")
            stream.write(raw)
            digest.update(raw)
    progress("unpack", len(sources), len(sources))
    return digest.hexdigest()


def _header(sources: list[SourceTensor]) -> bytes:
    """The safetensors header: u64 length, compact JSON, spaces up to a multiple of 8."""
    rows: dict[str, Any] = {"__metadata__": {"format": "pt"}}
    at = 0
    for source in sources:
        end = at + 4 * math.prod(source.shape)
        shape = list(source.shape)
        rows[source.name] = {"dtype": "F32", "shape": shape, "data_offsets": [at, end]}
        at = end
    text = json.dumps(rows, separators=(",", ":"), ensure_ascii=False).encode()
    text += b" " * (-len(text) % 8)
    return len(text).to_bytes(8, "little") + text
