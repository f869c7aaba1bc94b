"""Unpack an artifact into float32 safetensors under the source's names and shapes, streamed."""

from __future__ import annotations

from pathlib import Path

from trlm_lab.base.model_parts import HEAD
from trlm_lab.base.records import EffectiveConfig
from trlm_lab.base.source_tensors import SourceTensor, source_tensors
from trlm_lab.pack.artifact_file import map_file
from trlm_lab.pack.inverse import source_rows
from trlm_lab.pack.progress import Progress, silent
from trlm_lab.pack.safetensors_file import write_float32
from trlm_lab.slm.read import open_slm
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
    shapes = {source.name: source.shape for source in sources}
    blocks = (rows for source in sources for rows in source_rows(slm, source))
    return write_float32(out, shapes, blocks, progress=progress)


def _stored(config: EffectiveConfig) -> list[SourceTensor]:
    """What the source stores, sorted by name, without a tied head."""
    tied = {HEAD} if config.tie_word_embeddings else set()
    rows = [source for source in source_tensors(config) if source.name not in tied]
    return sorted(rows, key=lambda source: source.name)
