"""Filters on single values: texts, numbers, JSON."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from trlm_lab.chat import text_operations as ops
from trlm_lab.chat.arguments import integer, place
from trlm_lab.chat.budget import Budget
from trlm_lab.chat.json_text import write_json
from trlm_lab.chat.lazy import depth_of
from trlm_lab.chat.lookup import to_text
from trlm_lab.chat.methods import replaced, stripped_set
from trlm_lab.chat.owned_text import EMPTY, SafeText, Text, of, owner_of
from trlm_lab.chat.refusals import ill_typed, iterated, refused
from trlm_lab.chat.values import Undefined
from trlm_lab.errors import TemplateUnsupportedError

#: A longer text is no number, and Python would take quadratic time to say so.
_MAX_DIGITS = 4300
_MAX_PRECISION = 300
#: Powers of ten up to this one are floats, so that a division by them is rounded once.
_EXACT_POWER = 22


def _trim(value: Any, b: Budget, chars: Any = None) -> Text:
    return ops.strip(to_text(value, b), stripped_set(chars))


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
    if indent is not None and not isinstance(indent, str):
        indent = integer(indent)
    pair = _separators(separators, indent is not None)
    width = len(indent) if isinstance(indent, str) else max(0, indent or 0)
    # The indent is built even where nothing is indented.
    b.text(width)
    b.text((width * depth_of(value) + len(pair[0]) + len(pair[1])) * parts)
    made = write_json(value, bool(ensure_ascii), indent, pair, bool(sort_keys))
    b.text(len(made))
    return of(made, owner_of(value))


def _separators(given: Any, lines: bool) -> tuple[str, str]:
    if given is None:
        return ("," if lines else ", ", ": ")
    found: list[str] = []
    for part in iterated(given):
        if len(found) < 2 and not isinstance(part, str):
            raise ill_typed("a separator", part)
        found.append(part)
        if len(found) > 2:
            break
    if len(found) != 2:
        raise refused("ValueError: two separators are needed")
    return found[0], found[1]


def _default(value: Any, b: Budget, default_value: Any = EMPTY, boolean: Any = False) -> Any:
    missing = isinstance(value, Undefined) or (boolean and not value)
    return default_value if missing else value


def _replace(value: Any, b: Budget, old: Any, new: Any, count: Any = None) -> Text:
    texts = to_text(value, b), to_text(old, b), to_text(new, b)
    return replaced(texts[0], b, texts[1], texts[2], -1 if count is None else place(count))


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


def _round(value: Any, b: Budget, precision: Any = 0, method: Any = "common") -> Any:
    if not isinstance(method, str) or method not in ("common", "ceil", "floor"):
        raise refused("ValueError: method must be common, ceil or floor")
    places = integer(precision)
    if not isinstance(value, (int, float)):
        raise ill_typed("a rounding", value)
    if abs(places) > _MAX_PRECISION:
        raise refused("ValueError: precision beyond a float's")
    if method != "common" and not 0 <= places <= _EXACT_POWER:
        raise TemplateUnsupportedError(construct="ceil and floor by an inexact power of ten")
    try:
        return _rounded(value, places, method)
    except (OverflowError, ValueError) as error:
        raise refused("OverflowError: the rounded value is no finite number") from error


def _rounded(value: Any, places: int, method: str) -> Any:
    import math

    if method == "common":
        return round(value, places)
    rounded = math.ceil if method == "ceil" else math.floor
    return rounded(value * (10**places)) / (10**places)


def _indent(value: Any, b: Budget, width: Any = 4, first: Any = False, blank: Any = False) -> Text:
    if not isinstance(value, Text):
        raise ill_typed("an indentation", value)
    if not isinstance(width, Text):
        width = integer(width)
    text = to_text(value, b)
    pad = len(width) if isinstance(width, Text) else width
    b.text(len(text) + max(0, pad) * (len(str.splitlines(text)) + 1))
    return ops.indent(text, width, bool(first), bool(blank))


def _wordcount(value: Any, b: Budget) -> int:
    import re

    return len(re.findall(r"\w+", to_text(value, b)))


def _length(value: Any, b: Budget) -> int:
    try:
        return len(value)
    except TypeError as error:
        raise ill_typed("the length", value) from error


def _abs(value: Any, b: Budget) -> Any:
    if not isinstance(value, (int, float)):
        raise ill_typed("the size", value)
    return abs(value)


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
    "abs": _abs,
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
