"""Methods that templates may call on texts, objects, lists and the loop."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from string import Formatter
from typing import Any

from trlm_lab.chat import text_operations as ops
from trlm_lab.chat.allowed import LIST_METHODS, MAPPING_METHODS, MUTATING, TEXT_METHODS
from trlm_lab.chat.arguments import call, place
from trlm_lab.chat.arguments import text as text_of
from trlm_lab.chat.budget import Budget
from trlm_lab.chat.lookup import item, key_of, to_text
from trlm_lab.chat.owned_text import EMPTY, SafeText, Text, joined, of, owned, owner_of
from trlm_lab.chat.refusals import hashed, ill_typed, iterated, kind, refused
from trlm_lab.chat.values import Loop, Namespace, Undefined
from trlm_lab.errors import TemplateUnsupportedError


def call_method(held: Any, name: str, args: list[Any], named: dict[str, Any], b: Budget) -> Any:
    """`held.name(…)`.

    Raises:
        TemplateEvaluationError: the value has no such method, or not with these arguments.
    """
    if name in MUTATING:
        raise TemplateUnsupportedError(construct=f"the method {name!r}, which changes a value,")
    if isinstance(held, SafeText) and name not in ("startswith", "endswith", "find", "count"):
        raise TemplateUnsupportedError(construct=f"the method {name!r} on a text marked safe")
    if isinstance(held, Text) and name in TEXT_METHODS:
        b.text(len(held))
        return _text_method(held, name, args, named, b)
    if isinstance(held, dict) and name in MAPPING_METHODS:
        b.charge(len(held) if name != "get" else 1)
        key_of(args[0] if args else None)
        return call(_OF_MAPPING[name], (held,), args, named)
    if isinstance(held, list) and name in LIST_METHODS:
        b.weigh(held)
        b.weigh(args)
        return call(_OF_LIST[name], (held,), args, named)
    if isinstance(held, Loop) and name == "cycle":
        if not args:
            raise refused("ZeroDivisionError: a cycle of nothing")
        return args[held.index0 % len(args)]
    if isinstance(held, Loop) and name == "changed":
        b.weigh(args)
        changed, held.changed_last = held.changed_last != tuple(args), tuple(args)
        return changed
    return _absent(held, name)


def _absent(held: Any, name: str) -> Any:
    if isinstance(held, Namespace):
        raise TemplateUnsupportedError(construct="a call of a namespace's field")
    found = item(held, name)
    if isinstance(found, Undefined):
        found._fail()
    raise refused(f"{name!r} is a {kind(found)}, not a method")


def _get(held: dict[Any, Any], key: Any, default: Any = None, /) -> Any:
    return held.get(hashed(key), default)


_OF_MAPPING: dict[str, Callable[..., Any]] = {
    "get": _get,
    "copy": lambda held, /: held.copy(),
    "items": lambda held, /: held.items(),
    "keys": lambda held, /: held.keys(),
    "values": lambda held, /: held.values(),
}


def _index(held: list[Any], value: Any, start: Any = 0, stop: Any = 2**63, /) -> int:
    for bound in (start, stop):
        if not isinstance(bound, int):
            raise ill_typed("a place", bound)
    try:
        return held.index(value, start, stop)
    except ValueError as error:
        raise refused("ValueError: the value is not in the list") from error


_OF_LIST: dict[str, Callable[..., Any]] = {
    "count": lambda held, value, /: held.count(value),
    "index": _index,
}


def _text_method(text: Text, name: str, args: list[Any], named: dict[str, Any], b: Budget) -> Any:
    own = _OWNED.get(name)
    if own is not None:
        return call(own, (text, b), args, named)
    return call(_ask if name.startswith("is") else _search, (text, name), args, named)


def _ask(text: Text, name: str, /) -> Any:
    return getattr(str, name)(text)


def _search(held: Text, name: str, text: Any, start: Any = None, stop: Any = None, /) -> Any:
    for bound in (start, stop):
        if bound is not None and not isinstance(bound, int):
            raise ill_typed("a place", bound)
    look = getattr(str, name)
    if name not in ("startswith", "endswith") or not isinstance(text, tuple):
        return look(held, text_of(text, "text"), start, stop)
    # One after the other, up to the first that fits.
    return any(look(held, text_of(one, "text"), start, stop) for one in text)


def stripped_set(chars: Any) -> Any:
    """Characters to strip: a text or none. Raises TemplateEvaluationError."""
    if chars is not None and not isinstance(chars, str):
        raise ill_typed("characters to strip", chars)
    return chars


def _strip(text: Text, b: Budget, chars: Any = None, /) -> Text:
    return ops.strip(text, stripped_set(chars))


def _lstrip(text: Text, b: Budget, chars: Any = None, /) -> Text:
    return ops.strip(text, stripped_set(chars), right=False)


def _rstrip(text: Text, b: Budget, chars: Any = None, /) -> Text:
    return ops.strip(text, stripped_set(chars), left=False)


def _separator(given: Any) -> Any:
    if not text_of(given, "separator"):
        raise refused("ValueError: empty separator")
    return given


def _split(text: Text, b: Budget, sep: Any = None, maxsplit: Any = -1) -> list[Text]:
    most = place(maxsplit)
    return _counted(ops.split(text, None if sep is None else _separator(sep), most), b)


def _rsplit(text: Text, b: Budget, sep: Any = None, maxsplit: Any = -1) -> list[Text]:
    most = place(maxsplit)
    return _counted(ops.rsplit(text, None if sep is None else _separator(sep), most), b)


def _splitlines(text: Text, b: Budget, keepends: Any = False) -> list[Text]:
    if not isinstance(keepends, int):
        # Python 3.12 takes any value for the flag, 3.11 integers alone.
        raise TemplateUnsupportedError(construct="splitlines by a flag that is no integer")
    return _counted(ops.splitlines(text, bool(keepends)), b)


def _counted(pieces: list[Text], b: Budget) -> list[Text]:
    b.charge(len(pieces))
    return pieces


def _replace(text: Text, b: Budget, old: Any, new: Any, count: Any = -1, /) -> Text:
    return replaced(text, b, text_of(old, "old"), text_of(new, "new"), place(count))


def replaced(text: Text, b: Budget, old: str, new: str, count: int) -> Text:
    """`str.replace`, its size counted before it is built."""
    found = str.count(text, old)
    times = found if count < 0 else min(found, count)
    b.text(max(len(text), len(text) + times * (len(new) - len(old))))
    b.charge(times)
    return ops.replace(text, old, owned(new), count)


def _join(text: Text, b: Budget, parts: Any, /) -> Text:
    pieces: list[Text] = []
    size = 0
    for part in iterated(parts):
        if not isinstance(part, str):
            raise ill_typed("a piece", part)
        size += len(part) + len(text)
        b.charge()
        pieces.append(owned(part))
    return join_pieces(text, pieces, size, b)


def join_pieces(between: Text, pieces: list[Text], size: int, b: Budget) -> Text:
    """The pieces with a text between them; `size` bounds the result's characters."""
    b.text(size)
    mixed = [part for piece in pieces for part in (between, piece)]
    return joined(mixed[1:]) if mixed else EMPTY


def _prefix(held: Text, b: Budget, text: Any, /) -> Text:
    return held[len(text) :] if str.startswith(held, text_of(text, "text")) else held


def _suffix(held: Text, b: Budget, text: Any, /) -> Text:
    found = text_of(text, "text") and str.endswith(held, text)
    return held[: len(held) - len(text)] if found else held


def _partition(text: Text, b: Budget, separator: Any, /) -> tuple[Text, Text, Text]:
    return ops.partition(text, _separator(separator))


def _rpartition(text: Text, b: Budget, separator: Any, /) -> tuple[Text, Text, Text]:
    return ops.partition(text, _separator(separator), last=True)


def _format(text: Text, b: Budget, /, *args: Any, **named: Any) -> Text:
    """`str.format` with plain fields: `{}`, `{0}`, `{name}`; nothing is walked or converted."""
    pieces, at = [], 0
    for literal, field, spec, conversion in _fields(text):
        pieces.append(of(literal, owner_of(text)))
        if field is None:
            continue
        plain = field == "" or (field.isascii() and (field.isidentifier() or field.isdecimal()))
        if spec or conversion or not plain:
            raise TemplateUnsupportedError(construct=f"the format field {field!r}")
        pieces.append(to_text(_argument(field, at, args, named), b))
        at += field == ""
    b.text(sum(map(len, pieces)))
    return joined(pieces)


def _fields(text: Text) -> Iterator[tuple[str, str | None, str | None, str | None]]:
    try:
        yield from Formatter().parse(text)
    except ValueError as error:
        raise refused("ValueError: the text is no format") from error


def _argument(field: str, at: int, args: tuple[Any, ...], named: dict[str, Any]) -> Any:
    """The value of a field; one without a name takes the next by place."""
    if field and not field.isdecimal():
        found = field in named
        key: Any = field
    else:
        # No call has more than a million arguments.
        key = int(field.lstrip("0")[:7] or 0) if field else at
        found = key < len(args)
    if not found:
        raise refused(f"LookupError: the format field {field!r}")
    return named[field] if isinstance(key, str) else args[key]


_OWNED: dict[str, Callable[..., Any]] = {
    "strip": _strip,
    "lstrip": _lstrip,
    "rstrip": _rstrip,
    "split": _split,
    "rsplit": _rsplit,
    "splitlines": _splitlines,
    "replace": _replace,
    "join": _join,
    "format": _format,
    "removeprefix": _prefix,
    "removesuffix": _suffix,
    "partition": _partition,
    "rpartition": _rpartition,
    "lower": lambda text, b, /: ops.lower(text),
    "upper": lambda text, b, /: ops.upper(text),
    "title": lambda text, b, /: ops.title(text),
    "capitalize": lambda text, b, /: ops.capitalize(text),
}
