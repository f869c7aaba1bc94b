"""Fields and items of values: `a.b`, `a['b']`, slices, and printing a value as text."""

from __future__ import annotations

from typing import Any, NoReturn

from trlm_lab.chat.budget import Budget
from trlm_lab.chat.lazy import VIEWS, Lazy
from trlm_lab.chat.own_fields import has_own_field
from trlm_lab.chat.owned_text import (
    CONTENT,
    EMPTY,
    DataFloat,
    DataInt,
    SafeText,
    Text,
    of,
    owner_of,
    plain,
)
from trlm_lab.chat.refusals import kind, spelled
from trlm_lab.chat.values import GlobalFunction, Loop, Macro, Namespace, Undefined
from trlm_lab.errors import TemplateUnsupportedError

_PRINTED: tuple[type[Any], ...] = (
    dict,
    list,
    tuple,
    range,
    *VIEWS,
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
    if has_own_field(held, name):
        _no_method(kind(held), name)
    return _item(held, name)


def item(held: Any, key: Any) -> Any:
    """`held[key]`: the item first, then the value's own field of that name."""
    if isinstance(held, (Loop, Namespace)):
        return attribute(held, str(key)) if isinstance(key, str) else _missing(held, key)
    if isinstance(held, Undefined):
        held._fail()
    found = _item(held, key)
    if isinstance(found, Undefined) and isinstance(key, str) and has_own_field(held, str(key)):
        _no_method(kind(held), str(key))
    return found


def _item(held: Any, key: Any) -> Any:
    try:
        return held[key_of(key)] if isinstance(held, dict) else held[key]
    except (TypeError, LookupError):
        return _missing(held, key)


def _missing(held: Any, key: Any) -> Undefined:
    return Undefined(f"'{kind(held)}' has no element {spelled(key)}")


def _no_method(held: str, name: str) -> NoReturn:
    raise TemplateUnsupportedError(construct=f"the method {held}.{name} used as a value")


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
        _require_printed(value)
        return of(str(value), owner_of(value))
    raise _silent(value)


def _silent(value: Any) -> TemplateUnsupportedError:
    if isinstance(value, Lazy):
        construct = "printing a sequence that is made item by item"
    else:
        construct = f"printing a {kind(value)}"
    return TemplateUnsupportedError(construct=construct)


def _require_printed(value: Any) -> None:
    """Refuse what has no text of its own anywhere within a value."""
    if isinstance(value, (Lazy, *_SILENT)):
        raise _silent(value)
    if isinstance(value, SafeText):
        raise TemplateUnsupportedError(construct="printing what holds a text marked safe")
    if isinstance(value, dict):
        for key, held in value.items():
            _require_printed(key)
            _require_printed(held)
    elif isinstance(value, (list, tuple, *VIEWS)):
        for held in value:
            _require_printed(held)


def key_of(value: Any) -> Any:
    """A value about to be hashed.

    Raises:
        TemplateUnsupportedError: a tuple in a tuple, which the source hashes part by part; a view.
    """
    if isinstance(value, VIEWS):
        raise TemplateUnsupportedError(construct="a view of an object as a key")
    if isinstance(value, tuple) and any(isinstance(part, (tuple, *VIEWS)) for part in value):
        raise TemplateUnsupportedError(construct="a tuple within a tuple as a key")
    return value
