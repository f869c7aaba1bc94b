"""Open an SLM2 file over a buffer: every structural rule is checked, no payload is copied.

    slm = open_slm(memoryview(mapped), where="model.slm")
    tensor = slm.tensor("model.norm.weight")
    weights = dense_f32(tensor)

`open_slm` reads the front matter and the padding; it does not hash. Hashes are checked by
`trlm_lab.slm.verify`, quantized planes are decoded by `trlm_lab.quant`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trlm_lab.errors import SlmNoTensorError, SlmUnsupportedError
from trlm_lab.slm.config import read_config
from trlm_lab.slm.descriptors import TensorDesc
from trlm_lab.slm.directory import read_directory
from trlm_lab.slm.header import Header, read_header
from trlm_lab.slm.layout import RESIDUAL
from trlm_lab.slm.numbers import DType, Layout, Role, ScaleEncoding
from trlm_lab.slm.pieces import PieceDesc, ShardDesc, read_pieces, read_shard
from trlm_lab.slm.sections import check_sections
from trlm_lab.slm.strings import read_strings
from trlm_lab.slm.window import Window


@dataclass(frozen=True)
class SlmTensor:
    """One tensor. An alias shows its target's planes, stride and encoding, and names the target.

    `data` has `rows` rows of `row_stride` bytes, `scales` are little-endian [rows][groups] in
    `scale_encoding` (empty for f32, f16, bf16). `rows` is the product of the leading `dims`.
    Of a sparse residual `data` is the payload with its header (see `residual_payload`), `scales`
    has one scale a row, and `residual_of` names the base.
    """

    name: str
    role: Role
    dtype: DType
    dims: tuple[int, ...]
    rows: int
    cols: int
    row_stride: int
    scale_encoding: ScaleEncoding
    data: memoryview
    scales: memoryview
    alias_of: str | None
    flags: int
    sha256_trunc128: bytes
    descriptor: TensorDesc
    residual_of: str | None = None


@dataclass(frozen=True)
class SlmFile:
    """A structurally sound file; `tensors` in directory order, views into the buffer."""

    where: str
    view: memoryview
    header: Header
    config: dict[str, Any]
    tensors: tuple[SlmTensor, ...]
    tokenizer: memoryview
    pieces: tuple[PieceDesc, ...]
    shard: ShardDesc

    def tensor(self, name: str) -> SlmTensor:
        """The tensor of this name. Raises SlmNoTensorError."""
        for tensor in self.tensors:
            if tensor.name == name:
                return tensor
        count = f"{len(self.tensors)} tensors"
        raise SlmNoTensorError(where=self.where, field="the file", got=count, expected=repr(name))

    def residual_of(self, name: str) -> SlmTensor | None:
        """The sparse residual of a tensor, or of what it aliases; None where there is none."""
        base = self.tensor(name).alias_of or name
        return next((t for t in self.tensors if t.residual_of == base), None)

    def __contains__(self, name: object) -> bool:
        return any(t.name == name for t in self.tensors)

    @property
    def body(self) -> memoryview:
        """The payload bytes."""
        return self.view[self.header.body_off :]


def open_slm(buffer: memoryview | bytes, *, where: str = "") -> SlmFile:
    """Check the whole structure and return views into the buffer.

    Raises:
        SlmError: one subclass per broken rule; nothing was allocated by a declared size.
    """
    window = Window(memoryview(buffer).cast("B"), where)
    header = read_header(window)
    check_sections(window, header)
    strings = read_strings(window, header.string_table_off, header.string_table_len)
    descriptors = read_directory(window, header, strings)
    pieces, shard = read_pieces(window, header), read_shard(window, header)
    config = read_config(window, header)
    token_end = header.tokenizer_off + header.tokenizer_len
    return SlmFile(
        where=where,
        view=window.view,
        header=header,
        config=config,
        tensors=tuple(_tensor(window.view, d, descriptors, strings) for d in descriptors),
        tokenizer=window.view[header.tokenizer_off : token_end],
        pieces=pieces,
        shard=shard,
    )


def _tensor(
    view: memoryview, desc: TensorDesc, all_rows: tuple[TensorDesc, ...], strings: tuple[str, ...]
) -> SlmTensor:
    is_alias, is_residual = desc.layout == Layout.alias, desc.layout == Layout.sparse_residual
    stored = all_rows[desc.alias_of] if is_alias else desc
    base = strings[all_rows[desc.alias_of].name_id] if is_residual else None
    return SlmTensor(
        name=strings[desc.name_id],
        role=Role(desc.role),
        dtype=DType(desc.dtype),
        dims=desc.shape,
        rows=math.prod(desc.shape[:-1]),
        cols=desc.shape[-1],
        row_stride=stored.row_stride,
        scale_encoding=ScaleEncoding(stored.scale_encoding),
        data=view[stored.data_off : stored.data_off + stored.data_len],
        scales=view[stored.aux_off : stored.aux_off + stored.aux_len],
        alias_of=strings[stored.name_id] if is_alias else None,
        flags=desc.flags,
        sha256_trunc128=desc.sha256_trunc128,
        descriptor=desc,
        residual_of=base,
    )


def residual_payload(tensor: SlmTensor) -> tuple[int, memoryview]:
    """Entries of a sparse residual, and its bytes behind the header: rows, columns, values."""
    nnz = RESIDUAL.unpack(tensor.data, 0)["nnz"]
    return nnz, tensor.data[RESIDUAL.size :]


def dense_f32(tensor: SlmTensor) -> NDArray[np.float32]:
    """The tensor as float32 of shape `dims`: zero-copy for f32, widened for f16 and bf16.

    Raises:
        SlmUnsupportedError: a quantized tensor; decode it with `trlm_lab.quant.FORMATS`.
    """
    if tensor.dtype == DType.f32:
        return np.frombuffer(tensor.data, dtype="<f4").reshape(tensor.dims)
    if tensor.dtype == DType.f16:
        halves = np.frombuffer(tensor.data, dtype="<f2").reshape(tensor.dims)
        return halves.astype(np.float32)
    if tensor.dtype == DType.bf16:
        words = np.frombuffer(tensor.data, dtype="<u2").astype(np.uint32) << np.uint32(16)
        return words.view(np.float32).reshape(tensor.dims)
    raise SlmUnsupportedError(
        where=tensor.name, field="dtype", got=tensor.dtype.name, expected="f32, f16, bf16"
    )
