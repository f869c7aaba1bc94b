"""Quantization profiles: data files that pin a storage form, and how the packer applies each."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trlm_lab.base import canon
from trlm_lab.base.registry import Registry
from trlm_lab.errors import NonFiniteError, SlmUnsupportedError
from trlm_lab.quant import FORMATS
from trlm_lab.slm.numbers import DType
from trlm_lab.slm.read import SlmFile

Encode = Callable[[NDArray[np.float32], str, int], tuple[bytes | memoryview, bytes]]


@dataclass(frozen=True)
class PackProfile:
    """A named profile: `matrices` is the dtype of two-dimensional tensors; others stay f32."""

    name: str
    matrices: DType

    def dtype_of(self, shape: tuple[int, ...]) -> DType:
        """Storage dtype of a tensor of this shape."""
        return self.matrices if len(shape) == 2 else DType.f32


PROFILES: Registry[PackProfile] = Registry("quantization profile")
PROFILES.register("f32", PackProfile("f32", DType.f32))
PROFILES.register("q8_r128", PackProfile("q8_r128", DType.q8_r128))


def profile_of(slm: SlmFile) -> str:
    """The profile whose storage an artifact has; of several that store alike the first.

    Raises:
        SlmUnsupportedError: no profile stores tensors as this file does.
    """
    for name in PROFILES:
        profile = PROFILES[name]
        if all(t.dtype == profile.dtype_of(t.dims) for t in slm.tensors):
            return name
    found = ", ".join(sorted({t.dtype.name for t in slm.tensors}))
    known = ", ".join(PROFILES)
    raise SlmUnsupportedError(where=slm.where, field="dtype", got=found, expected=known)


def quant_profile(name: str) -> dict[str, Any]:
    """The profile as data: every field that the conformance standard lists.

    Raises:
        UnknownNameError: no such profile.
    """
    profile = PROFILES[name]
    folder = files("trlm_lab") / "data" / "profiles" / "quantization"
    row: dict[str, Any] = json.loads((folder / f"{profile.name}.json").read_text("utf-8"))
    return row


def quant_profile_id(name: str) -> str:
    """SHA-256 of the canonical encoding of the profile."""
    return canon.content_id(quant_profile(name))


def encoder(dtype: DType) -> Encode:
    """The function that turns (rows, tensor name, first row) into data and scales."""
    if dtype == DType.f32:
        return _dense
    form = FORMATS[dtype.name]
    return lambda rows, tensor, first: form.quantize(rows, where=tensor, first_row=first)


def _dense(rows: NDArray[np.float32], tensor: str, first: int) -> tuple[memoryview, bytes]:
    if not np.isfinite(rows).all():
        row, col = (int(i) for i in np.argwhere(~np.isfinite(rows))[0])
        bits = f"{int(rows[row, col].view(np.uint32)):08x}"
        raise NonFiniteError(where=tensor, index=(first + row, col), bits=bits)
    return np.ascontiguousarray(rows, dtype="<f4").data.cast("B"), b""
