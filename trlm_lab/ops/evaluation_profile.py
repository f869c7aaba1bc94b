"""An evaluation profile: everything that decides the bits of an operator, as versioned data."""

from __future__ import annotations

from dataclasses import dataclass
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
    """A checked profile; `fields` is the whole map, `profile_id` its content id."""

    fields: dict[str, Any]

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

    def dot_depth(self, length: int) -> int:
        """Roundings in a row that a term of a dot product of this length can meet."""
        rule = self.fields["permitted_error"]
        return -(-length // int(rule["terms_per_lane_step"])) + int(rule["merges"])

    def gamma(self, roundings: int) -> float:
        """Largest relative change by `roundings` roundings in a row: k*u / (1 - k*u)."""
        ku = roundings * 2.0 ** int(self.fields["permitted_error"]["unit_roundoff_log2"])
        return ku / (1.0 - ku)

    def arithmetic(self, threads: int = 1) -> Arithmetic:
        """What the operators need of it."""
        dtype = np.dtype(self.fields["accumulation_dtype"])
        return Arithmetic(self.name, dtype, self.fields["accumulation"]["lanes"], threads)
