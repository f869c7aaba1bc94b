"""Quantization profiles: data files that pin storage forms, and how the packer applies each."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib.resources import files
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trlm_lab.base import canon
from trlm_lab.base.interfaces import BlockFormat, RowPacker
from trlm_lab.base.registry import Registry
from trlm_lab.errors import NonFiniteError
from trlm_lab.quant import ABSMAX, Search, block_format
from trlm_lab.quant.ggml import DECODERS
from trlm_lab.quant.residual import ResidualRule
from trlm_lab.slm.numbers import DType, Role, ScaleEncoding
from trlm_lab.slm.planes import PLANE_RULES

Encode = Callable[[NDArray[np.float32], str, int], tuple[bytes | memoryview, bytes]]

#: In the order in which they are looked through and listed.
NAMES = (
    "f32",
    "q8_r128",
    "q6_g64",
    "q5_g64",
    "q4_g64",
    "mixed-q456",
    "mixed-q456-mobile",
    "f16",
    "bf16",
    "q8_r128-bf16",
    "q8_r128-e8m0",
    "q6_g64-bf16",
    "q6_g64-e8m0",
    "q5_g64-bf16",
    "q5_g64-e8m0",
    "q4_g64-bf16",
    "q4_g64-e8m0",
    "q5_g64-search",
    "q4_g64-search",
    "q4_g64-sparse-f16",
    "q4_g64-sparse-q8",
)
#: Profiles of calibrated quantizers (`pack.calibrated`), in the order in which they are listed.
CALIBRATED_NAMES = tuple(
    f"{form}-{algorithm}"
    for form in ("q8_r128", "q6_g64", "q5_g64", "q4_g64")
    for algorithm in ("awq", "gptq")
)


def by_reference(
    form: BlockFormat, rows: NDArray[np.float32], *, where: str, first_row: int
) -> tuple[bytes, bytes]:
    """The `RowPacker` of the format itself."""
    return form.quantize(rows, where=where, first_row=first_row)


@dataclass(frozen=True)
class PackProfile:
    """A named profile: dtypes of two-dimensional tensors, by role or `matrices`; others stay f32.

    `scales` is the encoding of grouped dtypes, `fractions` the grid of a clipping search (empty:
    absmax), `residual` the rule of sparse residuals. `packer` does the work and decides no byte.
    """

    name: str
    matrices: DType
    roles: dict[Role, DType]
    scales: ScaleEncoding
    fractions: tuple[float, ...]
    residual: ResidualRule | None
    packer: RowPacker = field(default=by_reference, kw_only=True, compare=False, repr=False)

    def dtype_of(self, role: Role, shape: tuple[int, ...]) -> DType:
        """Storage dtype of a tensor of this role and shape."""
        return self.roles.get(role, self.matrices) if len(shape) == 2 else DType.f32

    def scales_of(self, dtype: DType) -> ScaleEncoding:
        """Scale encoding of a dtype: the profile's where the dtype has scales."""
        return self.scales if PLANE_RULES[dtype].group else ScaleEncoding.none

    def format_of(self, dtype: DType) -> BlockFormat:
        """The block format of a dtype other than f32, with the profile's scales and clipping."""
        clipping = Search(self.fractions) if self.fractions else ABSMAX
        return block_format(dtype.name, self.scales.name, clipping)

    def encoder(self, dtype: DType) -> Encode:
        """The function that turns (rows, tensor name, first row) into data and scales."""
        if dtype == DType.f32:
            return _dense
        form = self.format_of(dtype)
        return lambda rows, tensor, first: self.packer(form, rows, where=tensor, first_row=first)


def _dense(rows: NDArray[np.float32], tensor: str, first: int) -> tuple[memoryview, bytes]:
    if not np.isfinite(rows).all():
        row, col = (int(i) for i in np.argwhere(~np.isfinite(rows))[0])
        bits = f"{int(rows[row, col].view(np.uint32)):08x}"
        raise NonFiniteError(where=tensor, index=(first + row, col), bits=bits)
    return np.ascontiguousarray(rows, dtype="<f4").data.cast("B"), b""


def profile_data(name: str) -> dict[str, Any]:
    """The file of a profile, whose name is known to be one."""
    folder = files("trlm_lab") / "data" / "profiles" / "quantization"
    row: dict[str, Any] = json.loads((folder / f"{name}.json").read_text("utf-8"))
    return row


def storage_profile(name: str) -> PackProfile:
    """How a named profile stores tensors."""
    row = profile_data(name)
    # The first two profiles are older than `storage`; their dtype is their name.
    storage = row.get("storage", {"matrices": name, "roles": {}})
    rule = row.get("residual")
    return PackProfile(
        name=name,
        matrices=DType[storage["matrices"]],
        roles={Role[role]: DType[dtype] for role, dtype in storage["roles"].items()},
        scales=ScaleEncoding[row["scale_dtype"] or "none"],
        fractions=tuple(row.get("search_grid") or ()),
        residual=rule and ResidualRule(
            rule["value_dtype"], rule["loss_threshold"], rule["max_density"]
        ),
    )  # fmt: skip


PROFILES: Registry[PackProfile] = Registry("quantization profile")
for _name in NAMES:
    PROFILES.register(_name, storage_profile(_name))


def quant_profile(name: str) -> dict[str, Any]:
    """The profile as data: every field that the conformance standard lists.

    Raises:
        UnknownNameError: no such profile.
    """
    return profile_data(name if name in CALIBRATED_NAMES else PROFILES[name].name)


def decoder_profile(type_name: str) -> dict[str, Any]:
    """The profile of a block format of ggml that is decoded here, by ggml's own name (`Q4_K`).

    Raises:
        UnknownNameError: no decoder of ours.
    """
    return profile_data(f"ggml-{DECODERS[type_name].name.lower()}")


def quant_profile_id(name: str) -> str:
    """SHA-256 of the canonical encoding of the profile."""
    return canon.content_id(quant_profile(name))
