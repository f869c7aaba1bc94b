"""Models of any storage form for the runtimes: one format, with residuals or without."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tests.backends.tiny_slm import tiny_config, tiny_weights
from trlm_lab.base.model_parts import EMBEDDING
from trlm_lab.quant import GROUPED, block_format
from trlm_lab.quant.residual import ResidualRule, residual_of
from trlm_lab.quant.sparse import encode_sparse
from trlm_lab.slm.numbers import DType, Role, ScaleEncoding
from trlm_lab.slm.plan import TensorSpec
from trlm_lab.slm.residuals import SUFFIX, residual_header
from trlm_lab.slm.write import assemble

Planes = tuple[bytes, bytes]


def coded_model(
    dtype: DType, scales: ScaleEncoding, residual: DType | None = None, family: str = "llama"
) -> bytes:
    """A sound file whose matrices have this form; vectors are f32. The head is tied or coded."""
    config = tiny_config(family)
    specs: list[TensorSpec] = []
    payloads: dict[str, Planes] = {}
    for weight in tiny_weights(config):
        role = Role[weight.role]
        if weight.values is None:
            shape = next(s.dims for s in specs if s.name == EMBEDDING)
            specs.append(TensorSpec(weight.name, role, dtype, shape, EMBEDDING))
            continue
        values = weight.values
        if values.ndim == 1:
            specs.append(TensorSpec(weight.name, role, DType.f32, values.shape))
            payloads[weight.name] = (values.astype("<f4").tobytes(), b"")
            continue
        form = block_format(dtype.name, scales.name)
        planes = form.quantize(values)
        specs.append(TensorSpec(weight.name, role, dtype, values.shape, scales=scales))
        payloads[weight.name] = planes
        if residual is not None:
            stored = form.dequantize(memoryview(planes[0]), memoryview(planes[1]), *values.shape)
            name = weight.name + SUFFIX
            spec, payloads[name] = residual_part(name, weight.name, role, values, stored, residual)
            specs.append(spec)
    return assemble(specs, config.to_map(), payloads)


def residual_part(
    name: str,
    base: str,
    role: Role,
    values: NDArray[np.float32],
    stored: NDArray[np.float32],
    kind: DType,
) -> tuple[TensorSpec, Planes]:
    """A residual of an eighth of the entries; every fifth row has none."""
    stored = stored.copy()
    stored[::5] = values[::5]
    sparse = residual_of([(values, stored)], ResidualRule(kind.name, 0.0, 0.125))
    data, scales = encode_sparse(sparse, kind.name)
    header = residual_header(values.shape, kind, sparse.nnz)
    spec = TensorSpec(name, role, kind, values.shape, base, nnz=sparse.nnz)
    return spec, (header + data, scales)


def every_form() -> list[tuple[DType, ScaleEncoding, DType | None]]:
    """Each dtype with each of its scale encodings, and two with each kind of residual."""
    coded: list[tuple[DType, ScaleEncoding, DType | None]] = [
        (DType[name], encoding, None)
        for name in GROUPED
        for encoding in (ScaleEncoding.fp16, ScaleEncoding.bf16, ScaleEncoding.e8m0)
    ]
    narrow: list[tuple[DType, ScaleEncoding, DType | None]] = [
        (DType.f16, ScaleEncoding.none, None), (DType.bf16, ScaleEncoding.none, None),
    ]  # fmt: skip
    sparse: list[tuple[DType, ScaleEncoding, DType | None]] = [
        (DType.q4_g64, ScaleEncoding.fp16, DType.f16),
        (DType.q4_g64, ScaleEncoding.e8m0, DType.q8_r128),
        (DType.q6_g64, ScaleEncoding.bf16, DType.q8_r128),
    ]
    return coded + narrow + sparse
