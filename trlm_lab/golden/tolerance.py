"""By what a candidate is judged: equal bits of an exact profile, or a frozen policy."""

from __future__ import annotations

from typing import Final

from trlm_lab.base import canon

TOLERANCE_SCHEMA: Final = "trlm.golden.tolerance.v1"


def exact_id(profile: str) -> bytes:
    """The `tolerance_profile` that asks for the bits of an evaluation profile."""
    return bytes.fromhex(canon.content_id({"schema": TOLERANCE_SCHEMA, "exact": profile}))
