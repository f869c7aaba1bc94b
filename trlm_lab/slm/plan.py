"""Where everything of an SLM2 file will stand, decided from names, shapes and lengths alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from trlm_lab.base import canon
from trlm_lab.errors import SlmAliasError, SlmTensorSetError
from trlm_lab.slm.config import check_length
from trlm_lab.slm.layout import (
    BODY_ALIGN,
    HEADER_LEN,
    PAYLOAD_ALIGN,
    PIECE_DESC,
    PIECE_SIZE,
    SHARD_DESC,
    TABLE_ALIGN,
    TENSOR_DESC,
    aligned,
)
from trlm_lab.slm.numbers import DType, Layout, Role, ScaleEncoding
from trlm_lab.slm.planes import PLANE_RULES, Planes, planes_of
from trlm_lab.slm.residuals import SUFFIX, VALUE_SCALES, residual_planes
from trlm_lab.slm.strings import encode_strings


@dataclass(frozen=True)
class TensorSpec:
    """A tensor to be written; `alias_of` names another tensor of the file, else None.

    `scales` is the scale encoding of a dense tensor (None: the first that the dtype allows). `nnz`
    makes it a sparse residual of that many entries; `alias_of` is then its base.
    """

    name: str
    role: Role
    dtype: DType
    dims: tuple[int, ...]
    alias_of: str | None = None
    scales: ScaleEncoding | None = None
    nnz: int | None = None

    @property
    def layout(self) -> Layout:
        """Dense, an alias, or a residual."""
        if self.nnz is not None:
            return Layout.sparse_residual
        return Layout.alias if self.alias_of else Layout.dense

    @property
    def scale_encoding(self) -> ScaleEncoding:
        """Of a dense tensor or residual; none for an alias."""
        if self.nnz is not None:
            return VALUE_SCALES[self.dtype]
        if self.alias_of:
            return ScaleEncoding.none
        return self.scales or PLANE_RULES[self.dtype].scale_encodings[0]

    @property
    def planes(self) -> Planes:
        """Sizes of the planes of a stored tensor."""
        if self.nnz is not None:
            return residual_planes(self.dims, self.dtype, self.nnz)
        return planes_of(self.dims, self.dtype, self.scale_encoding)


@dataclass(frozen=True)
class Placement:
    """A spec with its absolute offsets; an alias has zeros and the index of its target.

    A residual has both: bytes of its own, and the index of its base.
    """

    spec: TensorSpec
    data_off: int
    aux_off: int
    target: int | None

    @property
    def stored(self) -> bool:
        """Whether it has bytes of its own."""
        return self.spec.layout != Layout.alias

    @property
    def end(self) -> int:
        """First byte after data and scales (a stored tensor)."""
        planes = self.spec.planes
        return self.aux_off + planes.aux_len if planes.aux_len else self.data_off + planes.data_len


@dataclass(frozen=True)
class FilePlan:
    """All offsets and lengths of a file, and the small sections themselves."""

    config_map: dict[str, Any]
    strings: bytes
    config: bytes
    tokenizer: bytes
    placements: tuple[Placement, ...]
    string_table_off: int
    config_off: int
    tensor_dir_off: int
    tokenizer_off: int
    piece_table_off: int
    shard_table_off: int
    body_off: int
    artifact_len: int

    @property
    def body_len(self) -> int:
        """Bytes of the body."""
        return self.artifact_len - self.body_off

    @property
    def piece_count(self) -> int:
        """Pieces of the body."""
        return -(-self.body_len // PIECE_SIZE)


def plan_file(specs: list[TensorSpec], config: dict[str, Any], tokenizer: bytes) -> FilePlan:
    """Place the sections, each on the next multiple of 16, and the payloads on multiples of 64.

    Raises:
        SlmTensorSetError: duplicate names, or no dense tensor.
        SlmAliasError: an alias or residual of nothing, or of what is not dense; a residual that is
            not named after its base.
        SlmStringError, SlmConfigError: more names, or a longer configuration, than a reader takes.
    """
    targets = _alias_targets(specs)
    strings, encoded = encode_strings([s.name for s in specs]), canon.encode(config)
    check_length(len(encoded), "the plan")
    body_len = _payload_end(specs)
    lengths = {
        "string_table_off": len(strings),
        "config_off": len(encoded),
        "tensor_dir_off": len(specs) * TENSOR_DESC.size,
        "tokenizer_off": len(tokenizer),
        "piece_table_off": -(-body_len // PIECE_SIZE) * PIECE_DESC.size,
        "shard_table_off": SHARD_DESC.size,
    }
    offsets, at = {}, HEADER_LEN
    for name, length in lengths.items():
        offsets[name] = aligned(at, TABLE_ALIGN)
        at = offsets[name] + length
    body_off = aligned(at, BODY_ALIGN)
    return FilePlan(
        config_map=config,
        strings=strings,
        config=encoded,
        tokenizer=tokenizer,
        placements=tuple(_placements(specs, targets, body_off)),
        body_off=body_off,
        artifact_len=body_off + body_len,
        **offsets,
    )


def _alias_targets(specs: list[TensorSpec]) -> list[int | None]:
    index = {s.name: i for i, s in enumerate(specs)}
    if len(index) != len(specs) or all(s.alias_of for s in specs):
        raise SlmTensorSetError(
            field="the plan", got=[s.name for s in specs], expected="distinct names, one stored"
        )
    for spec in specs:
        if not spec.alias_of:
            continue
        target = index.get(spec.alias_of)
        if target is None or specs[target].layout != Layout.dense:
            raise SlmAliasError(
                where=spec.name, field="alias_of", got=spec.alias_of, expected="a dense tensor"
            )
        if spec.nnz is not None:
            _check_residual(spec, specs[target])
    return [index[s.alias_of] if s.alias_of else None for s in specs]


def _check_residual(spec: TensorSpec, base: TensorSpec) -> None:
    if not PLANE_RULES[base.dtype].group:
        raise SlmAliasError(
            where=spec.name, field="alias_of", got=base.dtype.name, expected="a tensor of codes"
        )
    named = base.name + SUFFIX
    if spec.name != named:
        raise SlmAliasError(where=spec.name, field="name", got=spec.name, expected=named)


def _placements(
    specs: list[TensorSpec], targets: list[int | None], body_off: int
) -> list[Placement]:
    rows, at = [], body_off
    for spec, target in zip(specs, targets, strict=True):
        if spec.layout == Layout.alias:
            rows.append(Placement(spec, 0, 0, target))
            continue
        planes = spec.planes
        data_off = aligned(at, PAYLOAD_ALIGN)
        aux_off = aligned(data_off + planes.data_len, PAYLOAD_ALIGN) if planes.aux_len else 0
        rows.append(Placement(spec, data_off, aux_off, target))
        at = rows[-1].end
    return rows


def _payload_end(specs: list[TensorSpec]) -> int:
    """Bytes of the body: its last payload's end, no padding after it."""
    targets: list[int | None] = [0 if s.alias_of else None for s in specs]
    return max(p.end for p in _placements(specs, targets, 0) if p.stored)
