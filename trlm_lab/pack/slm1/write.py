"""Write an SLM1 file from a snapshot, streamed: one pass over the weights, then the header."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from trlm_lab.base.blobs import file_sha256
from trlm_lab.base.records import EffectiveConfig, Ledger
from trlm_lab.base.unfinished import replacing
from trlm_lab.errors import NonFiniteError
from trlm_lab.pack.progress import Progress, silent
from trlm_lab.pack.slm1.files import open_slm1_file
from trlm_lab.pack.slm1.holds import header_shape
from trlm_lab.pack.slm1.ledger import slm1_ledger
from trlm_lab.pack.slm1.profiles import SLM1_PROFILES
from trlm_lab.pack.slm1.rows import slm1_rows
from trlm_lab.pack.source import Sources, open_sources
from trlm_lab.slm1.checksum import OUR_CHECKSUM
from trlm_lab.slm1.codecs import Q4_BLOCK
from trlm_lab.slm1.directory import Placed
from trlm_lab.slm1.write import Slm1Plan, plan_slm1
from trlm_lab.text.slm1 import special_ids


@dataclass(frozen=True)
class Slm1Artifact:
    """A written SLM1 file: its identity is the SHA-256 of its bytes."""

    path: Path
    format: str
    quant_profile: str
    file_sha256: str
    checksum_profile: str
    checksum: str
    size: int


def pack_slm1(
    root: Path,
    config: EffectiveConfig,
    quant: str,
    out: Path,
    tokenizer: bytes,
    *,
    block: int = Q4_BLOCK,
    progress: Progress = silent,
) -> tuple[Slm1Artifact, Ledger]:
    """Write the SLM1 file of a snapshot; the same inputs give the same bytes.

    `quant` is `f32`, `q8_0` or `q4_0` (with this block); every tensor has it. `tokenizer` is a
    BTOK or BPE1. Queries and keys are stored in interleaved pairs. Memory is bounded by slices of
    16 MB and the scales of one tensor; `out` is replaced whole or not.

    Raises:
        UnknownNameError: no such profile.
        Slm1CannotHoldError: the model, with every reason.
        BtokError, Bpe1Error: the section is no tokenizer.
        PackSourceError and its neighbours: source and configuration contradict each other.
        NonFiniteError: a weight that is NaN or infinite.
        Slm1ScaleError: weights so large that codes times their scale overflow.
    """
    dtype = SLM1_PROFILES[quant]
    vocab, ids = special_ids(tokenizer)
    plan = plan_slm1(header_shape(config, vocab, ids), dtype, tokenizer, block=block)
    sources = open_sources(root, config)
    with replacing(out) as stream:
        checksum = _write(stream, plan, sources, progress)
    artifact = Slm1Artifact(
        path=out,
        format="SLM1",
        quant_profile=quant,
        file_sha256=file_sha256(out),
        checksum_profile=OUR_CHECKSUM.name,
        checksum=f"{checksum:016x}",
        size=plan.size,
    )
    # The ledger says what the two files say, not what the loop below meant to write.
    return artifact, slm1_ledger(open_slm1_file(out), sources, config, progress)


def _write(stream: BinaryIO, plan: Slm1Plan, sources: Sources, progress: Progress) -> int:
    """Everything in file order, each byte once, then the header again with its checksum."""
    running, at = OUR_CHECKSUM.start(), 0

    def put(data: bytes) -> None:
        nonlocal at
        stream.write(data)
        running.update(data)
        at += len(data)

    put(plan.front(0))
    for done, placed in enumerate(plan.placed):
        progress("pack", done, len(plan.placed))
        put(bytes(placed.data[0] - at))
        scales = []
        for data, row_scales in _encoded(placed, sources, plan.header.head_dim):
            put(data)
            scales.append(row_scales)
        if placed.scales[1]:
            put(bytes(placed.scales[0] - at))
            put(b"".join(scales))
    put(bytes(plan.size - at))
    progress("pack", len(plan.placed), len(plan.placed))
    checksum = running.finish()
    stream.seek(0)
    stream.write(plan.front(checksum))
    return checksum


def _encoded(placed: Placed, sources: Sources, head_dim: int) -> Iterator[tuple[bytes, bytes]]:
    part, block, first = sources.parts[placed.named.source_name], placed.entry.block_size, 0
    for rows in slm1_rows(part, placed.named, head_dim):
        _require_finite(rows, placed.named.source_name, first)
        data, scales = placed.codec.encode(rows, block)
        views = memoryview(data), memoryview(scales)
        placed.codec.check(*views, placed.cols, block, placed.named.source_name, first)
        yield data, scales
        first += len(rows)


def _require_finite(rows: NDArray[np.float32], name: str, first: int) -> None:
    finite = np.isfinite(rows)
    if not finite.all():
        row, col = (int(i) for i in np.argwhere(~finite)[0])
        bits = f"{int(rows[row, col].view(np.uint32)):08x}"
        raise NonFiniteError(where=name, index=(first + row, col), bits=bits)
