"""The planes of a tensor as they lie in an artifact of either version."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trlm_lab.pack.profiles import PackProfile
from trlm_lab.pack.weights import sparse_of
from trlm_lab.quant.sparse import Sparse
from trlm_lab.rungs import Storage
from trlm_lab.slm.numbers import DType
from trlm_lab.slm.read import SlmFile, SlmTensor
from trlm_lab.slm1.codecs import DType as OldDType
from trlm_lab.slm1.read import Slm1File, Slm1Tensor

Array = NDArray[Any]

#: Bits of a code and columns a scale of each grouped format.
_GROUPED = {"q8_r128": (8, 128), "q6_g64": (6, 64), "q5_g64": (5, 64), "q4_g64": (4, 64)}
_DENSE_BITS = {"f32": 32, "f16": 16, "bf16": 16}
#: The bits of 1.0, which SLM1 stores over a block of zeros.
_ONE = 0x3F800000
WORDS = {"fp16": "<u2", "bf16": "<u2", "e8m0": "u1", "f32": "<u4", "none": "u1"}


@dataclass(frozen=True)
class Stored:
    """A matrix of `rows` x `cols` in its file.

    `data` has `rows` rows of `storage.row_bytes`, `scales` [rows][groups] words; `data_at` and
    `scales_at` are their places in the file. Rows of whole heads of `rotary` are interleaved pairs
    of the source's halves (0: none). `numbers` are the container's numbers of dtype and encoding.
    """

    storage: Storage
    rows: int
    cols: int
    data: memoryview
    scales: memoryview
    data_at: int
    scales_at: int
    rotary: int = 0
    sparse: Sparse | None = None
    numbers: tuple[int, int] = (0, 0)

    def plane(self, first: int, last: int) -> Array:
        """Stored bytes of rows, (n, row_bytes)."""
        width = self.storage.row_bytes(self.cols)
        part = np.frombuffer(self.data[first * width : last * width], np.uint8)
        return part.reshape(last - first, width)

    def words(self, first: int, last: int) -> Array:
        """Scale words of rows as integers, (n, groups)."""
        groups, word = self.storage.groups(self.cols), np.dtype(WORDS[self.storage.scales])
        width = groups * word.itemsize
        part = np.frombuffer(self.scales[first * width : last * width], word)
        return part.reshape(last - first, groups).astype(np.int64)

    def scale_bytes(self, words: Array) -> bytes:
        """Words as the file stores them."""
        return words.astype(WORDS[self.storage.scales]).tobytes()


def stored_slm2(
    slm: SlmFile, tensor: SlmTensor, profile: PackProfile, residual: SlmTensor | None
) -> Stored:
    """A tensor of an SLM2 file; of an alias its target's planes."""
    name, encoding = tensor.dtype.name, tensor.scale_encoding.name
    if name in _GROUPED:
        bits, group = _GROUPED[name]
        storage = Storage(name, bits, group, encoding, "planes", fractions=profile.fractions)
    else:
        storage = Storage(name, _DENSE_BITS[name], 0, "none", "words")
    place = (slm.tensor(tensor.alias_of) if tensor.alias_of else tensor).descriptor
    return Stored(
        storage, tensor.rows, tensor.cols, tensor.data, tensor.scales, place.data_off,
        place.aux_off, sparse=None if residual is None else sparse_of(residual),
        numbers=(int(DType(tensor.dtype)), int(tensor.scale_encoding)),
    )  # fmt: skip


def stored_slm1(slm1: Slm1File, tensor: Slm1Tensor) -> Stored:
    """A tensor of an SLM1 file."""
    placed = tensor.placed
    block, cols = placed.entry.block_size, placed.cols
    storage = {
        OldDType.f32: Storage("f32", 32, 0, "none", "words"),
        OldDType.q8_0: Storage("q8_0", 8, block, "f32", "words", zero=_ONE),
        OldDType.q4_0: Storage("q4_0", 4, block, "f32", "pairs", zero=_ONE),
    }[placed.codec.dtype]
    rotary = slm1.header.head_dim if placed.named.rotary_heads else 0
    return Stored(
        storage, placed.rows, cols, tensor.data, tensor.scales, placed.data[0], placed.scales[0],
        rotary,
    )  # fmt: skip
