"""Sizes of a stored tensor: rows and columns, row stride, code plane and scale plane.

One row of the table a dtype; a further block format is one further row. Only sizes stand here, the
meaning of the bytes is the block format's own (floor-mates do not import each other).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from trlm_lab.slm.numbers import DType, ScaleEncoding


@dataclass(frozen=True)
class PlaneRule:
    """A row has ceil(cols / unit) * unit_bytes bytes; `group` columns share a scale (0: none)."""

    unit: int
    unit_bytes: int
    group: int
    scale_encodings: tuple[ScaleEncoding, ...]


@dataclass(frozen=True)
class Planes:
    """Sizes in bytes of one tensor's two planes, and its shape as a matrix."""

    rows: int
    cols: int
    row_stride: int
    data_len: int
    aux_len: int


GROUPED_SCALES = (ScaleEncoding.fp16, ScaleEncoding.bf16, ScaleEncoding.e8m0)

PLANE_RULES: dict[DType, PlaneRule] = {
    DType.f32: PlaneRule(1, 4, 0, (ScaleEncoding.none,)),
    DType.f16: PlaneRule(1, 2, 0, (ScaleEncoding.none,)),
    DType.bf16: PlaneRule(1, 2, 0, (ScaleEncoding.none,)),
    DType.q8_r128: PlaneRule(64, 64, 128, GROUPED_SCALES),
    DType.q6_g64: PlaneRule(64, 48, 64, GROUPED_SCALES),
    DType.q5_g64: PlaneRule(64, 40, 64, GROUPED_SCALES),
    DType.q4_g64: PlaneRule(64, 32, 64, GROUPED_SCALES),
}

SCALE_BYTES: dict[ScaleEncoding, int] = {
    ScaleEncoding.none: 0,
    ScaleEncoding.fp16: 2,
    ScaleEncoding.bf16: 2,
    ScaleEncoding.e8m0: 1,
}


def planes_of(dims: tuple[int, ...], dtype: DType, encoding: ScaleEncoding) -> Planes:
    """Sizes of a tensor with these dimensions; rows are the product of the leading ones.

    Plain integers, so that hostile dimensions cannot overflow.
    """
    rule = PLANE_RULES[dtype]
    rows, cols = math.prod(dims[:-1]), dims[-1]
    stride = -(-cols // rule.unit) * rule.unit_bytes
    groups = -(-cols // rule.group) if rule.group else 0
    return Planes(rows, cols, stride, rows * stride, rows * groups * SCALE_BYTES[encoding])
