"""Methods that templates may call on texts, objects, lists and the loop."""

from __future__ import annotations

from collections.abc import Callable
from string import Formatter
from typing import Any

from trlm_lab.chat import text_operations as ops
from trlm_lab.chat.allowed import LIST_METHODS, MAPPING_METHODS, MUTATING, TEXT_METHODS
from trlm_lab.chat.budget import Budget
from trlm_lab.chat.lookup import item, key_of, to_text
from trlm_lab.chat.owned_text import EMPTY, SafeText, Text, joined, of, owned, owner_of
from trlm_lab.chat.values import Loop, Namespace, Undefined
from trlm_lab.errors import TemplateEvaluationError, TemplateUnsupportedError


def call_method(held: Any, name: str, args: list[Any], named: dict[str, Any], b: Budget) -> Any:
    """`held.name(…)`.

    Raises:
        TemplateEvaluationError: the value has no such method; wrong arguments are TypeErrors.
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
        return getattr(held, name)(*args, **named)
    if isinstance(held, list) and name in LIST_METHODS:
        b.weigh(held)
        b.weigh(args)
        return getattr(held, name)(*args, **named)
    if isinstance(held, Loop) and name == "cycle":
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
    raise TemplateEvaluationError(detail=f"{name!r} is a {type(found).__name__}, not a method")


def _text_method(text: Text, name: str, args: list[Any], named: dict[str, Any], b: Budget) -> Any:
    own = _OWNED.get(name)
    if own is not None:
        return own(text, b, *args, **named)
    return getattr(str, name)(text, *args, **named)


def _strip(text: Text, b: Budget, chars: str | None = None, /) -> Text:
    return ops.strip(text, chars)


def _lstrip(text: Text, b: Budget, chars: str | None = None, /) -> Text:
    return ops.strip(text, chars, right=False)


def _rstrip(text: Text, b: Budget, chars: str | None = None, /) -> Text:
    return ops.strip(text, chars, left=False)


def _split(text: Text, b: Budget, sep: str | None = None, maxsplit: int = -1) -> list[Text]:
    return _counted(ops.split(text, sep, maxsplit), b)


def _rsplit(text: Text, b: Budget, sep: str | None = None, maxsplit: int = -1) -> list[Text]:
    return _counted(ops.rsplit(text, sep, maxsplit), b)


def _splitlines(text: Text, b: Budget, keepends: bool = False) -> list[Text]:
    if not isinstance(keepends, int):
        raise TypeError("splitlines() takes a truth value")
    return _counted(ops.splitlines(text, keepends), b)


def _counted(pieces: list[Text], b: Budget) -> list[Text]:
    b.charge(len(pieces))
    return pieces


def replaced(text: Text, b: Budget, old: str, new: Text, count: int = -1, /) -> Text:
    """`str.replace`, its size counted before it is built."""
    if not isinstance(old, str) or not isinstance(new, str):
        raise TypeError("replace() takes texts")
    found = str.count(text, old)
    times = found if count < 0 else min(found, count)
    b.text(max(len(text), len(text) + times * (len(new) - len(old))))
    b.charge(times)
    return ops.replace(text, old, owned(new), count)


def _join(text: Text, b: Budget, parts: Any, /) -> Text:
    pieces: list[Text] = []
    size = 0
    for part in parts:
        if not isinstance(part, str):
            raise TypeError(f"sequence item {len(pieces)}: expected text")
        size += len(part) + len(text)
        b.charge()
        pieces.append(owned(part))
    return join_pieces(text, pieces, size, b)


def join_pieces(between: Text, pieces: list[Text], size: int, b: Budget) -> Text:
    """The pieces with a text between them; `size` bounds the result's characters."""
    b.text(size)
    mixed = [part for piece in pieces for part in (between, piece)]
    return joined(mixed[1:]) if mixed else EMPTY


def _prefix(text: Text, b: Budget, prefix: str, /) -> Text:
    if not isinstance(prefix, str):
        raise TypeError("removeprefix() takes a text")
    return text[len(prefix) :] if str.startswith(text, prefix) else text


def _suffix(text: Text, b: Budget, suffix: str, /) -> Text:
    if not isinstance(suffix, str):
        raise TypeError("removesuffix() takes a text")
    return text[: len(text) - len(suffix)] if suffix and str.endswith(text, suffix) else text


def _format(text: Text, b: Budget, /, *args: Any, **named: Any) -> Text:
    """`str.format` with plain fields: `{}`, `{0}`, `{name}`; nothing is walked or converted."""
    pieces, at = [], 0
    for literal, field, spec, conversion in Formatter().parse(text):
        pieces.append(of(literal, owner_of(text)))
        if field is None:
            continue
        plain = field == "" or (field.isascii() and (field.isidentifier() or field.isdecimal()))
        if spec or conversion or not plain:
            raise TemplateUnsupportedError(construct=f"the format field {field!r}")
        key = str(at) if field == "" else field
        at += field == ""
        pieces.append(to_text(args[int(key)] if key.isdecimal() else named[key], b))
    b.text(sum(map(len, pieces)))
    return joined(pieces)


_OWNED: dict[str, Callable[..., Any]] = {
    "strip": _strip,
    "lstrip": _lstrip,
    "rstrip": _rstrip,
    "split": _split,
    "rsplit": _rsplit,
    "splitlines": _splitlines,
    "replace": replaced,
    "join": _join,
    "format": _format,
    "removeprefix": _prefix,
    "removesuffix": _suffix,
    "partition": lambda text, b, sep, /: ops.partition(text, sep),
    "rpartition": lambda text, b, sep, /: ops.partition(text, sep, last=True),
    "lower": lambda text, b, /: ops.lower(text),
    "upper": lambda text, b, /: ops.upper(text),
    "title": lambda text, b, /: ops.title(text),
    "capitalize": lambda text, b, /: ops.capitalize(text),
}
