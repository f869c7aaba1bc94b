"""Sparse residuals of a source: which tensors get one, and its bytes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from trlm_lab.pack.profiles import PackProfile
from trlm_lab.pack.source import Part, Sources, widened
from trlm_lab.quant.residual import Loss, Pair, residual_of
from trlm_lab.quant.sparse import Sparse, encode_sparse
from trlm_lab.slm.numbers import DType, Role
from trlm_lab.slm.residuals import residual_header


@dataclass(frozen=True)
class Measured:
    """The loss of a tensor under a profile, and its residual where the loss calls for one."""

    loss: float
    sparse: Sparse | None


def stored_pairs(part: Part, profile: PackProfile, dtype: DType, name: str) -> Iterator[Pair]:
    """Blocks of rows as the source has them and as the quantized tensor gives them back."""
    form = profile.format_of(dtype)
    for first, raw in part.blocks():
        rows = widened(raw, part.stored.info.dtype)
        data, scales = (
            memoryview(p) for p in profile.packer(form, rows, where=name, first_row=first)
        )
        yield rows, form.dequantize(data, scales, *rows.shape, where=name, first_row=first)


def measured(part: Part, profile: PackProfile, dtype: DType, name: str) -> Measured:
    """Loss and residual of one tensor; the residual's arrays are all that is kept of it."""
    rule = profile.residual
    loss = Loss()
    for rows, stored in stored_pairs(part, profile, dtype, name):
        loss.add(rows, stored)
    if rule is None or loss.value <= rule.loss_threshold:
        return Measured(loss.value, None)
    sparse = residual_of(stored_pairs(part, profile, dtype, name), rule)
    return Measured(loss.value, sparse if sparse.nnz else None)


def payload_again(
    sources: Sources, profile: PackProfile, base: str, role: Role, dims: tuple[int, ...]
) -> tuple[bytes, bytes]:
    """Data with its header, and scales, of the residual of a tensor; two empty ones without it."""
    found = measured(sources.parts[base], profile, profile.dtype_of(role, dims), base).sparse
    if found is None or profile.residual is None:
        return b"", b""
    payload, scales = encode_sparse(found, profile.residual.value_dtype)
    return residual_header(dims, DType[profile.residual.value_dtype], found.nnz) + payload, scales
