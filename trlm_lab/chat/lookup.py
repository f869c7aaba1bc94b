"""Fields and items of values: `a.b`, `a['b']`, slices, and printing a value as text."""

from __future__ import annotations

from collections.abc import ItemsView, KeysView, ValuesView
from typing import Any, NoReturn

from trlm_lab.chat.budget import Budget
from trlm_lab.chat.owned_text import (
    CONTENT,
    EMPTY,
    DataFloat,
    DataInt,
    Text,
    of,
    owner_of,
    plain,
)
from trlm_lab.chat.values import GlobalFunction, Loop, Macro, Namespace, Undefined
from trlm_lab.errors import TemplateUnsupportedError

_PLAIN = (str, dict, list, tuple, int, float, range)
_PRINTED: tuple[type[Any], ...] = (
    dict,
    list,
    tuple,
    range,
    KeysView,
    ValuesView,
    ItemsView,
)
#: Arrays and objects of JSON are printed as Python prints them; these have no text of their own.
_SILENT = (Namespace, GlobalFunction, Loop, Macro)


def attribute(held: Any, name: str) -> Any:
    """`held.name`: the value's own field first, then its item of that name."""
    if isinstance(held, Loop):
        return _no_method("loop", name) if name in ("cycle", "changed") else held.attribute(name)
    if isinstance(held, Namespace):
        return held.held.get(name, Undefined(f"the namespace has no attribute {name!r}"))
    if isinstance(held, Undefined):
        held._fail()
    if _own_field(held, name):
        _no_method(type(held).__name__, name)
    return _item(held, name)


def item(held: Any, key: Any) -> Any:
    """`held[key]`: the item first, then the value's own field of that name."""
    if isinstance(held, (Loop, Namespace)):
        return attribute(held, str(key)) if isinstance(key, str) else _missing(held, key)
    if isinstance(held, Undefined):
        held._fail()
    found = _item(held, key)
    if isinstance(found, Undefined) and isinstance(key, str) and _own_field(held, key):
        _no_method(type(held).__name__, key)
    return found


def _item(held: Any, key: Any) -> Any:
    try:
        return held[key]
    except (TypeError, LookupError):
        return _missing(held, key)


def _missing(held: Any, key: Any) -> Undefined:
    kind = type(held).__name__
    return Undefined(f"{kind!r} has no element {key!r}")


def _own_field(held: Any, name: str) -> bool:
    """True if the language that the source runs on has a field of this name on such a value."""
    if held is None or not isinstance(held, _PLAIN):
        return False
    base = next(kind for kind in _PLAIN if isinstance(held, kind))
    kind = bool if isinstance(held, bool) else base
    return hasattr(kind, str(name))


def _no_method(kind: str, name: str) -> NoReturn:
    raise TemplateUnsupportedError(construct=f"the method {kind}.{name} used as a value")


def to_text(value: Any, b: Budget) -> Text:
    """What a template prints for a value (Python's `str`)."""
    if isinstance(value, Text):
        return plain(value)
    if isinstance(value, Undefined):
        return EMPTY
    if isinstance(value, (DataInt, DataFloat)):
        return of(repr(value), CONTENT)
    if value is None or isinstance(value, (bool, int, float)):
        return of(str(value), 0)
    if isinstance(value, str):
        return of(value, CONTENT)
    if isinstance(value, _PRINTED):
        b.weigh(value)
        return of(str(value), owner_of(value))
    kind = type(value).__name__
    if isinstance(value, _SILENT):
        raise TemplateUnsupportedError(construct=f"printing a {kind}")
    raise TemplateUnsupportedError(construct="printing a sequence that is made item by item")
