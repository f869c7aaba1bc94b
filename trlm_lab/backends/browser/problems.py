"""Problems of the page (code, place, detail, number) as the exceptions of this package."""

from __future__ import annotations

from typing import Any

from trlm_lab.backends.abi_host import CONTEXT, NO_VISIBLE_KEY, OUT_OF_MEMORY, TOKEN_RANGE
from trlm_lab.base.records import Case
from trlm_lab.errors import (
    AllKeysMaskedError,
    BrowserPageError,
    ContextLengthError,
    RuntimeMemoryError,
    RuntimeRefusedError,
    TokenRangeError,
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
    return RuntimeRefusedError(where=where, error_name=name, number=number, detail=detail)


def case_error(problem: dict[str, Any], case: Case, model: dict[str, Any]) -> TrlmError:
    """The same for a case on a model, in the classes that every engine raises for it."""
    number, vocab = problem.get("number"), int(model["vocab"])
    place = f"case {case.case_id}"
    if number == TOKEN_RANGE:
        index = next(i for i, token in enumerate(case.token_ids) if token >= vocab)
        facts = {"token": case.token_ids[index], "index": index, "vocab": vocab}
        return TokenRangeError(where=f"{place}, token_ids[{index}]", **facts)
    if number == CONTEXT:
        limit = int(model["max_position_embeddings"])
        return ContextLengthError(where=place, tokens=len(case.token_ids), limit=limit)
    if number == NO_VISIBLE_KEY:
        return AllKeysMaskedError(where=f"{place}, attention_mask", row=0)
    return error_of(problem)
