"""Problems of the page (code, place, detail, number) as the exceptions of this package."""

from __future__ import annotations

from typing import Any

from trlm_lab.backends.abi_host import NO_VISIBLE_KEY, OUT_OF_MEMORY, all_keys_masked
from trlm_lab.errors import (
    BrowserPageError,
    RuntimeMemoryError,
    RuntimeRefusedError,
    TrlmError,
)


def error_of(problem: dict[str, Any]) -> TrlmError:
    """The exception that says what the page said; `number` 0 marks the page's own problems."""
    where, detail = str(problem.get("where", "")), str(problem.get("detail", ""))
    name, number = str(problem.get("code", "")), int(problem.get("number", 0))
    if number == 0:
        return BrowserPageError(where=where, detail=f"{name}: {detail}")
    if number == OUT_OF_MEMORY:
        return RuntimeMemoryError(where=where, detail=detail)
    if number == NO_VISIBLE_KEY:
        return all_keys_masked(where)
    return RuntimeRefusedError(where=where, error_name=name, number=number, detail=detail)
