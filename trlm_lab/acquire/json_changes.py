"""Which fields of a JSON document changed, by pointer (RFC 6901)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from trlm_lab.base import strict_json
from trlm_lab.errors import TrlmError

#: A vocabulary may change in every entry; beyond this many fields the rest is counted.
_MOST = 50
_ABSENT = object()


def json_changes(old: bytes, new: bytes) -> tuple[tuple[str, str, str], ...]:
    """(pointer, old value, new value) of every leaf that differs, in the old document's order.

    Empty texts stand for absent fields. A document that is no JSON gives one row for the whole.
    """
    try:
        before, after = strict_json.loads(old), strict_json.loads(new)
    except TrlmError as error:
        return (("", "", f"not comparable: {error.code}"),)
    rows: list[tuple[str, str, str]] = []
    for row in _leaves(before, after, ""):
        if len(rows) == _MOST:
            rows.append(("…", "", "and more"))
            break
        rows.append(row)
    return tuple(rows)


def _leaves(old: Any, new: Any, place: str) -> Iterator[tuple[str, str, str]]:
    if isinstance(old, dict) and isinstance(new, dict):
        for key in [*old, *(k for k in new if k not in old)]:
            step = key.replace("~", "~0").replace("/", "~1")
            yield from _leaves(old.get(key, _ABSENT), new.get(key, _ABSENT), f"{place}/{step}")
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for index, pair in enumerate(zip(old, new, strict=True)):
            yield from _leaves(*pair, f"{place}/{index}")
    elif old is _ABSENT or new is _ABSENT or _spelled(old) != _spelled(new):
        yield place, _spelled(old), _spelled(new)


def _spelled(value: Any) -> str:
    if value is _ABSENT:
        return ""
    # 2, 2.0 and true are three different declarations.
    text = json.dumps(value, sort_keys=True, ensure_ascii=False)
    return text if len(text) <= 200 else f"{text[:199]}…"
