"""The profile of an artifact, by how its tensors are stored and, of several, by their bytes."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from trlm_lab.errors import SlmUnsupportedError
from trlm_lab.pack.codes import Codes
from trlm_lab.pack.profiles import PROFILES, PackProfile
from trlm_lab.pack.source import Sources, widened
from trlm_lab.slm.numbers import DType, Layout
from trlm_lab.slm.read import SlmFile, SlmTensor

#: Rows that decide between profiles that store alike.
_ROWS = 256
#: The first rows that a tensor was made of and the row they begin with; None where it is unknown.
FirstRows = Callable[[str], tuple[int, NDArray[np.float32]] | None]


def profile_of(slm: SlmFile, sources: Sources, codes: Codes | None = None) -> PackProfile:
    """The profile whose storage an artifact has, which was packed from `sources`.

    With `codes` it is theirs. Raises as `profile_by`.
    """
    if codes is not None:
        return codes.profile

    def first_rows(name: str) -> tuple[int, NDArray[np.float32]] | None:
        part = sources.parts.get(name)
        if part is None:
            return None
        first, raw = next(part.blocks())
        return first, widened(raw[:_ROWS], part.stored.info.dtype)

    return profile_by(slm, first_rows)


def profile_by(slm: SlmFile, first_rows: FirstRows) -> PackProfile:
    """The profile whose storage an artifact has.

    Several profiles store in the same form and differ in the scales that they choose; then the
    first rows of the smallest quantized tensor are quantized by each, and the first profile that
    gives the stored bytes is it (or the first at all, whose proof will then fail).

    Raises:
        SlmUnsupportedError: no profile stores tensors as this file does.
    """
    alike = [PROFILES[name] for name in PROFILES if _stores_alike(slm, PROFILES[name])]
    if not alike:
        found = ", ".join(sorted({t.dtype.name for t in slm.tensors}))
        known = ", ".join(PROFILES)
        raise SlmUnsupportedError(where=slm.where, field="dtype", got=found, expected=known)
    coded = [t for t in slm.tensors if _is_dense(t) and t.dtype != DType.f32]
    if len(alike) > 1 and coded:
        smallest = min(coded, key=lambda t: len(t.data))
        return next((p for p in alike if _gives(p, smallest, first_rows)), alike[0])
    return alike[0]


def _is_dense(tensor: SlmTensor) -> bool:
    return tensor.descriptor.layout == Layout.dense


def _stores_alike(slm: SlmFile, profile: PackProfile) -> bool:
    for tensor in slm.tensors:
        if tensor.residual_of is not None:
            rule = profile.residual
            if rule is None or rule.value_dtype != tensor.dtype.name:
                return False
        elif _is_dense(tensor):
            dtype = profile.dtype_of(tensor.role, tensor.dims)
            if (tensor.dtype, tensor.scale_encoding) != (dtype, profile.scales_of(dtype)):
                return False
    return True


def _gives(profile: PackProfile, tensor: SlmTensor, first_rows: FirstRows) -> bool:
    found = first_rows(tensor.name)
    if found is None:
        return False
    first, rows = found
    data, scales = profile.encoder(tensor.dtype)(rows[:_ROWS], tensor.name, first)
    return bool(bytes(data) == tensor.data[: len(data)] and scales == tensor.scales[: len(scales)])
