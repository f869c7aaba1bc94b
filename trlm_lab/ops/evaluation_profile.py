"""An evaluation profile: everything that decides the bits of an operator, as versioned data."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from trlm_lab.base import canon
from trlm_lab.errors import RecordError
from trlm_lab.ops.arithmetic import Arithmetic

SCHEMA = "trlm.evaluation_profile.v1"

#: Every field that a profile pins; a profile with another set of fields is refused.
FIELDS: dict[str, type | tuple[type, ...]] = {
    "schema": str,
    "name": str,
    "version": int,
    "summary": str,
    "storage_dtype": str,
    "intermediate_dtype": str,
    "accumulation_dtype": str,
    "accumulation": dict,
    "contraction": str,
    "elementary_functions": dict,
    "rounding": str,
    "subnormals": str,
    "signed_zero": str,
    "non_finite": str,
    "epsilon": str,
    "norm_scale": str,
    "rope_angle": str,
    "mask": str,
    "score_scale": str,
    "softmax": str,
    "quantized_weights": str,
    "ties": str,
    "bit_reproducible": bool,
    "permitted_error": dict,
    "notes": str,
}


@dataclass(frozen=True)
class EvaluationProfile:
    """A checked profile; `fields` is the whole map, `profile_id` its content id.

    `changes` are what its options change of the arithmetic (`profile_options`).
    """

    fields: dict[str, Any]
    changes: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        where = f"evaluation profile {self.fields.get('name')!r}"
        if set(self.fields) != set(FIELDS) or self.fields["schema"] != SCHEMA:
            wrong = sorted(set(self.fields) ^ set(FIELDS))
            raise RecordError(where=where, detail=f"schema or fields differ: {wrong}")
        for name, kind in FIELDS.items():
            if not isinstance(self.fields[name], kind):
                raise RecordError(where=f"{where}.{name}", detail=f"is no {kind}")
        dtype, lanes = self.fields["accumulation_dtype"], self.fields["accumulation"].get("lanes")
        if dtype not in ("float32", "float64") or dtype != self.fields["intermediate_dtype"]:
            raise RecordError(where=where, detail=f"accumulation in {dtype!r} is not implemented")
        if lanes not in (None, 1, 16) or isinstance(lanes, bool):
            raise RecordError(where=where, detail=f"{lanes!r} lanes are not implemented")

    @property
    def name(self) -> str:
        """The profile's name, which ends in its version where bits depend on it."""
        return str(self.fields["name"])

    @property
    def bit_reproducible(self) -> bool:
        """Whether two engines of this profile give the same bits."""
        return bool(self.fields["bit_reproducible"])

    @property
    def profile_id(self) -> str:
        """SHA-256 of the canonical encoding of the fields."""
        return canon.content_id(self.fields)

    def arithmetic(self, threads: int = 1) -> Arithmetic:
        """What the operators need of it."""
        dtype = np.dtype(self.fields["accumulation_dtype"])
        lanes = self.fields["accumulation"]["lanes"]
        return Arithmetic(self.name, dtype, lanes, threads, **self.changes)
