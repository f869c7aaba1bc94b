"""Construction checks shared by the records."""

from __future__ import annotations

import re
from typing import Any

from trlm_lab.errors import RecordError

_SHA256 = re.compile(r"[0-9a-f]{64}\Z")


def require(condition: bool, where: str, detail: str) -> None:
    """Raise RecordError unless the condition holds."""
    if not condition:
        raise RecordError(where=where, detail=detail)


def require_sha256(value: Any, where: str) -> None:
    """Raise RecordError unless the value is 64 lower-case hex digits."""
    ok = isinstance(value, str) and _SHA256.match(value) is not None
    require(ok, where, f"{value!r} is no SHA-256 in lower-case hex")
