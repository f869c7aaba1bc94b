"""Profiles of calibrated quantizers: storage as of a plain profile, codes by an algorithm."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from trlm_lab.base.registry import Registry
from trlm_lab.pack.profiles import CALIBRATED_NAMES, PackProfile, profile_data, storage_profile
from trlm_lab.quant.activation_aware import ActivationAware
from trlm_lab.quant.coded import Coded
from trlm_lab.quant.error_compensating import ErrorCompensating
from trlm_lab.quant.grouped import Grouped


@runtime_checkable
class Algorithm(Protocol):
    """A calibrated quantizer with its parameters."""

    def quantize(
        self,
        form: Grouped,
        weights: NDArray[np.float32],
        gram: NDArray[np.float64],
        *,
        where: str = "",
    ) -> Coded:
        """Codes and scales of a whole matrix."""
        ...


@dataclass(frozen=True)
class CalibratedProfile:
    """A named profile: what is stored how, and who decides the codes."""

    storage: PackProfile
    algorithm: Algorithm

    @property
    def name(self) -> str:
        """The name of the profile."""
        return self.storage.name


def _algorithm(row: dict[str, Any]) -> Algorithm:
    grid = tuple(row["grid"])
    if row["name"] == "activation-aware":
        return ActivationAware(grid, row["sweeps"])
    return ErrorCompensating(row["damping"], grid, row["ordering"])


CALIBRATED: Registry[CalibratedProfile] = Registry("calibrated quantization profile")
for _name in CALIBRATED_NAMES:
    _row = profile_data(_name)
    CALIBRATED.register(
        _name, CalibratedProfile(storage_profile(_name), _algorithm(_row["calibrated"]))
    )
