"""Write an SLM1 file: places from the shape alone, then header, checksum and payloads as they come.

    plan = plan_slm1(shape, DType.q8_0, tokenizer)
    front = plan.front(checksum)      # header, tokenizer, directory, zeros up to the payloads

`assemble` does all of it in memory for small files; `trlm_lab.pack` streams to disk.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from trlm_lab.errors import Slm1CannotHoldError
from trlm_lab.slm1.checksum import OUR_CHECKSUM
from trlm_lab.slm1.codecs import CODECS, Q4_BLOCK, Codec, DType
from trlm_lab.slm1.directory import Entry, Placed
from trlm_lab.slm1.header import Header
from trlm_lab.slm1.layout import ENTRY_LEN, HEADER_LEN, aligned
from trlm_lab.slm1.names import OUTPUT, NamedTensor, fnv1a64, tensors_of

F32 = NDArray[np.float32]


@dataclass(frozen=True)
class Slm1Plan:
    """Where everything will stand; `placed` in the order of the forward pass."""

    header: Header
    tokenizer: bytes
    placed: tuple[Placed, ...]
    size: int

    def front(self, checksum: int) -> bytes:
        """Everything before the payloads, with this checksum."""
        header = replace(self.header, checksum=checksum)
        out = bytearray(header.tensor_data_offset)
        for at, data in (
            (0, header.encode()),
            (header.tokenizer_offset, self.tokenizer),
            (header.tensor_directory_offset, b"".join(p.entry.encode() for p in self.placed)),
        ):
            out[at : at + len(data)] = data
        return bytes(out)


def plan_slm1(shape: Header, dtype: DType, tokenizer: bytes, *, block: int = Q4_BLOCK) -> Slm1Plan:
    """Place tokenizer, directory and payloads; `shape` gives sizes, flags and floats.

    A tied head is not stored. The same shape gives the same places on every machine.

    Raises:
        Slm1CannotHoldError: a width that the block of q4_0 does not divide.
    """
    tensors = [t for t in tensors_of(shape) if t.name != OUTPUT or not shape.tied]
    directory = aligned(HEADER_LEN + len(tokenizer))
    at = data_offset = aligned(directory + ENTRY_LEN * len(tensors))
    codec, placed = CODECS[dtype], []
    for tensor in tensors:
        row = _place(tensor, codec, block, at)
        placed.append(row)
        at = aligned(max(row.data[1], row.scales[1]))
    header = replace(
        shape,
        tokenizer_offset=HEADER_LEN,
        tokenizer_length=len(tokenizer),
        tensor_directory_offset=directory,
        tensor_count=len(tensors),
        tensor_data_offset=data_offset,
        checksum=0,
    )
    return Slm1Plan(header, tokenizer, tuple(placed), at)


def _place(tensor: NamedTensor, codec: Codec, asked: int, at: int) -> Placed:
    *leading, cols = tensor.dims
    rows = leading[0] if leading else 1
    block = codec.block_of(cols, asked)
    if codec.dtype == DType.q4_0 and (block < 2 or block % 2 or cols % block):
        reason = f"{tensor.name} has {cols} columns, no multiple of the even block size {block}"
        raise Slm1CannotHoldError(where=tensor.source_name, reasons=reason)
    length, scale_length = rows * codec.row_bytes(cols), rows * codec.scale_bytes(cols, block)
    scales = aligned(at + length) if scale_length else 0
    entry = Entry(
        fnv1a64(tensor.name), codec.dtype, len(tensor.dims), tensor.dims, at, length, scales, block
    )
    return Placed(tensor, entry, codec, (at, at + length), (scales, scales + scale_length))


def assemble(
    shape: Header,
    dtype: DType,
    tokenizer: bytes,
    weights: Callable[[NamedTensor], F32],
    *,
    block: int = Q4_BLOCK,
) -> bytes:
    """A whole small file in memory; `weights` gives each tensor in SLM1's own order of rows.

    Raises:
        Slm1CannotHoldError: as `plan_slm1`.
    """
    plan = plan_slm1(shape, dtype, tokenizer, block=block)
    out = bytearray(plan.size)
    out[: plan.header.tensor_data_offset] = plan.front(0)
    for placed in plan.placed:
        rows = weights(placed.named).reshape(placed.rows, placed.cols)
        data, scales = placed.codec.encode(rows, placed.entry.block_size)
        out[slice(*placed.data)] = data
        out[slice(*placed.scales)] = scales
    running = OUR_CHECKSUM.start()
    running.update(bytes(out))
    out[: plan.header.tensor_data_offset] = plan.front(running.finish())
    return bytes(out)
