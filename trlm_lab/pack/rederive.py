"""Undo what a packer did, or do it again: the proof that nothing but the steps happened.

Of a lossless tensor the source's bytes follow from the artifact's, and must have the source's hash.
Of a quantized one they do not; then the source is quantized anew, and codes and scales must have
the artifact's hash.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

import numpy as np

from trlm_lab.base.model_parts import HEAD
from trlm_lab.base.records import EffectiveConfig, Ledger, LedgerEntry
from trlm_lab.base.source_tensors import SourceTensor, stored_sources
from trlm_lab.pack.codes import Codes
from trlm_lab.pack.inverse import narrowed, source_rows
from trlm_lab.pack.ledger_rules import LedgerFinding
from trlm_lab.pack.profile_choice import profile_of
from trlm_lab.pack.profiles import PackProfile
from trlm_lab.pack.progress import Progress, silent
from trlm_lab.pack.residuals import payload_again
from trlm_lab.pack.source import Sources, widened
from trlm_lab.slm.read import SlmFile, SlmTensor


def rederive(
    slm: SlmFile,
    sources: Sources,
    ledger: Ledger,
    progress: Progress = silent,
    codes: Codes | None = None,
) -> Iterator[LedgerFinding]:
    """A finding for every tensor whose bytes do not follow by the steps of the ledger."""
    config, profile = EffectiveConfig.from_map(slm.config), profile_of(slm, sources, codes)
    by_source: dict[str, list[LedgerEntry]] = {}
    for entry in ledger.entries:
        by_source.setdefault(entry.source_name, []).append(entry)
    names = [part.stored.info.name for part in sources.parts.values()]
    plan = [s for s in stored_sources(config, names) if s.name in by_source]
    for done, source in enumerate(plan):
        progress("undo", done, len(plan))
        entries = by_source[source.name]
        if source.name == HEAD and config.tie_word_embeddings:
            continue
        if all(entry.lossless for entry in entries):
            yield from _undone(slm, source, entries[0])
        else:
            for part in source.parts:
                yield from _done_again(slm.tensor(part.destination), sources, profile)
                residual = slm.residual_of(part.destination)
                if residual is not None:
                    yield from _residual_again(residual, sources, profile)
    progress("undo", len(plan), len(plan))


def _undone(slm: SlmFile, source: SourceTensor, entry: LedgerEntry) -> Iterator[LedgerFinding]:
    digest = hashlib.sha256()
    for rows in source_rows(slm, source):
        stored = narrowed(rows, entry.source_dtype)
        if stored is None:
            detail = f"it holds a value that {entry.source_dtype} has not"
            yield LedgerFinding("LEDGER_INVERSE", source.name, detail)
            return
        digest.update(np.ascontiguousarray(stored).data.cast("B"))
    if digest.hexdigest() != entry.source_sha256:
        detail = f"undone, the steps give the hash {digest.hexdigest()[:16]}…"
        detail += f", the source has {entry.source_sha256[:16]}…"
        yield LedgerFinding("LEDGER_INVERSE", source.name, detail)


def _done_again(
    tensor: SlmTensor, sources: Sources, profile: PackProfile
) -> Iterator[LedgerFinding]:
    part, encode = sources.parts[tensor.name], profile.encoder(tensor.dtype)
    digest, scales = hashlib.sha256(), []
    for first, raw in part.blocks():
        data, scale = encode(widened(raw, part.stored.info.dtype), tensor.name, first)
        digest.update(data)
        scales.append(scale)
    digest.update(b"".join(scales))
    yield from _compared(tensor, digest)


def _residual_again(
    tensor: SlmTensor, sources: Sources, profile: PackProfile
) -> Iterator[LedgerFinding]:
    assert tensor.residual_of is not None
    planes = payload_again(sources, profile, tensor.residual_of, tensor.role, tensor.dims)
    yield from _compared(tensor, hashlib.sha256(b"".join(planes)))


def _compared(tensor: SlmTensor, digest: hashlib._Hash) -> Iterator[LedgerFinding]:
    stored = hashlib.sha256(tensor.data)
    stored.update(tensor.scales)
    if digest.digest() != stored.digest():
        detail = f"stored anew it has the hash {digest.hexdigest()[:16]}…"
        detail += f", the artifact has {stored.hexdigest()[:16]}…"
        yield LedgerFinding("LEDGER_QUANTIZE", tensor.name, detail)
