"""Problems of the page (`code`, `where`, `detail`, `fix`) as the exceptions of this package."""

from __future__ import annotations

from typing import Any

from trlm_lab.errors import BrowserPageError, EngineRefusedError, TrlmError

#: The page's own codes, and those of the runtime that blame the machine and not the input.
_INFRASTRUCTURE = frozenset({
    "ABI_VERSION", "BUSY", "CANCELLED", "FILE_READ", "HTTP", "MODULE", "NO_MODEL", "UNEXPECTED",
    "WORKER", "OUT_OF_MEMORY", "NULL_POINTER", "ARGUMENT", "NO_CASE",
})  # fmt: skip


def error_of(problem: dict[str, Any]) -> TrlmError:
    """The exception that says what the page said."""
    told = {name: str(problem.get(name, "")) for name in ("code", "where", "detail", "fix")}
    where, code, detail = told["where"], told["code"], told["detail"]
    if code in _INFRASTRUCTURE:
        return BrowserPageError(where=where, detail=f"{code}: {detail}")
    return EngineRefusedError(where=where, engine_code=code, detail=detail, remedy_text=told["fix"])
