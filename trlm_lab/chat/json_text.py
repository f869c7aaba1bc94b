"""JSON as the source writes it, and the words for what has none."""

from __future__ import annotations

import json
from typing import Any

from trlm_lab.chat.refusals import ill_typed, refused
from trlm_lab.errors import TemplateEvaluationError


def write_json(
    value: Any, ascii_only: bool, indent: int | str | None, separators: Any, sort_keys: bool
) -> str:
    """Python's `json.dumps`.

    Raises:
        TemplateEvaluationError: the first part, in the order of writing, that JSON does not have.
    """
    try:
        return json.dumps(
            value,
            ensure_ascii=ascii_only,
            indent=indent,
            separators=separators,
            sort_keys=sort_keys,
        )
    except (TypeError, TemplateEvaluationError) as error:
        _require_json(value, sort_keys)
        raise ill_typed("JSON", value) from error


def _require_json(value: Any, sort_keys: bool) -> None:
    if isinstance(value, dict):
        rows = list(value.items())
        for key, held in _in_order(rows) if sort_keys else rows:
            if key is not None and not isinstance(key, (str, int, float)):
                raise ill_typed("a key of JSON", key)
            _require_json(held, sort_keys)
    elif isinstance(value, (list, tuple)):
        for held in value:
            _require_json(held, sort_keys)
    elif value is not None and not isinstance(value, (str, int, float)):
        raise ill_typed("JSON", value)


def _in_order(rows: list[tuple[Any, Any]]) -> list[tuple[Any, Any]]:
    try:
        return sorted(rows, key=lambda row: row[0])
    except (TypeError, TemplateEvaluationError) as error:
        raise refused("TypeError: the items have no order") from error
