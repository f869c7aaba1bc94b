"""The storage profiles of SLM1 as data: every field of the standard's list, hashed."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any

from trlm_lab.base import canon
from trlm_lab.base.registry import Registry
from trlm_lab.slm1.codecs import DType

SLM1_PROFILES: Registry[DType] = Registry("SLM1 storage profile")
SLM1_PROFILES.register("f32", DType.f32)
SLM1_PROFILES.register("q8_0", DType.q8_0)
SLM1_PROFILES.register("q4_0", DType.q4_0)


def slm1_profile(name: str) -> dict[str, Any]:
    """A profile as data. Raises UnknownNameError."""
    dtype = SLM1_PROFILES[name]
    folder = files("trlm_lab") / "data" / "profiles" / "quantization"
    row: dict[str, Any] = json.loads((folder / f"slm1_{dtype.name}.json").read_text("utf-8"))
    return row


def slm1_profile_id(name: str) -> str:
    """SHA-256 of the canonical encoding of the profile."""
    return canon.content_id(slm1_profile(name))
