"""Filters on single values: texts, numbers, JSON."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from trlm_lab.chat import text_operations as ops
from trlm_lab.chat.budget import Budget
from trlm_lab.chat.lazy import depth_of
from trlm_lab.chat.lookup import to_text
from trlm_lab.chat.methods import replaced
from trlm_lab.chat.owned_text import EMPTY, SafeText, Text, of, owner_of
from trlm_lab.chat.values import Undefined
from trlm_lab.errors import TemplateUnsupportedError

#: A longer text is no number, and Python would take quadratic time to say so.
_MAX_DIGITS = 4300
_MAX_PRECISION = 300
#: Powers of ten up to this one are floats, so that a division by them is rounded once.
_EXACT_POWER = 22


def _trim(value: Any, b: Budget, chars: str | None = None) -> Text:
    return ops.strip(to_text(value, b), chars)


def _tojson(
    value: Any,
    b: Budget,
    ensure_ascii: bool = False,
    indent: Any = None,
    separators: Any = None,
    sort_keys: bool = False,
) -> Text:
    """Python's `json.dumps` with the source's defaults: `", "` and `": "`, no ASCII escapes."""
    before = b.steps
    b.weigh(value)
    parts = b.steps - before
    pair = _separators(separators, indent is not None)
    if indent is not None and not isinstance(indent, (int, str)):
        raise TypeError("the indent is no number and no text")
    width = len(indent) if isinstance(indent, str) else max(0, indent or 0)
    b.text((width * depth_of(value) + len(pair[0]) + len(pair[1])) * parts)
    made = json.dumps(
        value,
        ensure_ascii=bool(ensure_ascii),
        indent=indent,
        separators=pair,
        sort_keys=bool(sort_keys),
    )
    b.text(len(made))
    return of(made, owner_of(value))


def _separators(given: Any, lines: bool) -> tuple[str, str]:
    if given is None:
        return ("," if lines else ", ", ": ")
    between, behind = given
    if not isinstance(between, str) or not isinstance(behind, str):
        raise TypeError("separators are texts")
    return between, behind


def _default(value: Any, b: Budget, default_value: Any = EMPTY, boolean: Any = False) -> Any:
    missing = isinstance(value, Undefined) or (boolean and not value)
    return default_value if missing else value


def _replace(value: Any, b: Budget, old: Any, new: Any, count: Any = None) -> Text:
    most = -1 if count is None else count
    return replaced(to_text(value, b), b, to_text(old, b), to_text(new, b), most)


def _int(value: Any, b: Budget, default: Any = 0, base: int = 10) -> Any:
    try:
        return b.integer(int(_short(value), base) if isinstance(value, str) else int(value))
    except (TypeError, ValueError, OverflowError):
        try:
            return b.integer(int(float(_short(value))))
        except (TypeError, ValueError, OverflowError):
            return default


def _float(value: Any, b: Budget, default: Any = 0.0) -> Any:
    try:
        return float(_short(value))
    except (TypeError, ValueError):
        return default


def _short(value: Any) -> Any:
    if isinstance(value, str) and len(value) > _MAX_DIGITS:
        raise ValueError("too long for a number")
    return value


def _round(value: Any, b: Budget, precision: int = 0, method: str = "common") -> Any:
    import math

    if method not in {"common", "ceil", "floor"}:
        raise ValueError("method must be common, ceil or floor")
    if not isinstance(value, (int, float)) or not isinstance(precision, int):
        raise TypeError("round() takes a number and an integer")
    if abs(precision) > _MAX_PRECISION:
        raise ValueError("precision beyond a float's")
    if method != "common" and not 0 <= precision <= _EXACT_POWER:
        raise TemplateUnsupportedError(construct="ceil and floor by an inexact power of ten")
    if method == "common":
        return round(value, precision)
    rounded = math.ceil if method == "ceil" else math.floor
    return rounded(value * (10**precision)) / (10**precision)


def _indent(value: Any, b: Budget, width: Any = 4, first: Any = False, blank: Any = False) -> Text:
    if not isinstance(value, Text) or not isinstance(width, (int, Text)):
        raise TypeError("indent() takes a text, and a number or a text")
    text = to_text(value, b)
    pad = len(width) if isinstance(width, Text) else width
    b.text(len(text) + max(0, pad) * (len(str.splitlines(text)) + 1))
    return ops.indent(text, width, bool(first), bool(blank))


def _wordcount(value: Any, b: Budget) -> int:
    import re

    return len(re.findall(r"\w+", to_text(value, b)))


def _length(value: Any, b: Budget) -> int:
    return len(value)


#: Filters that do not keep the mark of a `safe` text in the source either.
UNMARKED = frozenset(
    {"tojson", "default", "d", "length", "count", "safe", "replace", "int", "float"}
)

FILTERS: dict[str, Callable[..., Any]] = {
    "trim": _trim,
    "tojson": _tojson,
    "default": _default,
    "d": _default,
    "replace": _replace,
    "int": _int,
    "float": _float,
    "round": _round,
    "abs": lambda value, b: abs(value),
    "indent": _indent,
    "wordcount": _wordcount,
    "length": _length,
    "count": _length,
    "safe": lambda value, b: SafeText.marked(to_text(value, b)),
    "string": lambda value, b: to_text(value, b),
    "lower": lambda value, b: ops.lower(to_text(value, b)),
    "upper": lambda value, b: ops.upper(to_text(value, b)),
    "title": lambda value, b: ops.title_words(to_text(value, b)),
    "capitalize": lambda value, b: ops.capitalize(to_text(value, b)),
}
