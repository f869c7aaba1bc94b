"""Problems of the page (`code`, `where`, `detail`, `fix`) as the exceptions of this package."""

from __future__ import annotations

from typing import Any

from trlm_lab.errors import BrowserPageError, EngineRefusedError, TrlmError

#: The page's own codes, and those of the runtime that blame the machine and not the input.
_INFRASTRUCTURE = frozenset({
    "ABI_VERSION", "BUSY", "CANCELLED", "FILE_READ", "HTTP", "MODULE", "NO_MODEL", "UNEXPECTED",
    "WORKER", "OUT_OF_MEMORY", "NULL_POINTER", "ARGUMENT", "NO_CASE",
})  # fmt: skip


def error_of(problem: dict[str, Any], where: str) -> TrlmError:
    """The exception for a problem that arose while working on `where`."""
    code, detail = str(problem.get("code", "")), str(problem.get("detail", ""))
    place = ", ".join(dict.fromkeys(part for part in (where, str(problem.get("where"))) if part))
    if code in _INFRASTRUCTURE:
        return BrowserPageError(where=place, detail=f"{code}: {detail}")
    remedy = str(problem.get("fix", ""))
    return EngineRefusedError(where=place, engine_code=code, detail=detail, remedy_text=remedy)
