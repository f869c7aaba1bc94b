"""Filters on lists: choosing, mapping, ordering and joining.

`map`, `select` and the like give their items one by one, once, as the source's do: such a sequence
is true even when it is empty, and has no length.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from trlm_lab.chat import text_operations as ops
from trlm_lab.chat.arithmetic import add_up
from trlm_lab.chat.budget import Budget
from trlm_lab.chat.filters import FILTERS as VALUE_FILTERS
from trlm_lab.chat.is_tests import run_test, weigh_compared
from trlm_lab.chat.lazy import Lazy
from trlm_lab.chat.lookup import item, key_of, to_text
from trlm_lab.chat.methods import join_pieces
from trlm_lab.chat.owned_text import EMPTY, Text
from trlm_lab.chat.values import Undefined
from trlm_lab.errors import TemplateEvaluationError


def walked(values: Iterable[Any], b: Budget) -> Iterator[Any]:
    """Items one by one, each a step."""
    for value in values:
        b.charge()
        yield value


def _getter(attribute: Any, default: Any = None, folded: bool = False) -> Callable[[Any], Any]:
    if attribute is None:
        parts: list[Any] = []
    elif isinstance(attribute, str):
        named = str(attribute).split(".")
        parts = [int(part) if part.isdigit() else part for part in named]
    else:
        parts = [attribute]

    def get(value: Any) -> Any:
        for part in parts:
            value = item(value, part)
            if default is not None and isinstance(value, Undefined):
                value = default
        return ops.lower(value) if folded and isinstance(value, Text) else value

    return get


def _items(value: Any, b: Budget) -> Iterator[Any]:
    if isinstance(value, Undefined):
        return
    if not isinstance(value, dict):
        raise TypeError("Can only get item pairs from a mapping.")
    yield from walked(value.items(), b)


def _join(value: Any, b: Budget, d: Any = EMPTY, attribute: Any = None) -> Text:
    get = _getter(attribute)
    pieces, size, between = [], 0, to_text(d, b)
    for held in walked(value, b):
        piece = to_text(get(held), b)
        size += len(piece) + len(between)
        pieces.append(piece)
    return join_pieces(between, pieces, size, b)


def _first(value: Any, b: Budget) -> Any:
    return next(iter(value), Undefined("No first item, sequence was empty."))


def _last(value: Any, b: Budget) -> Any:
    if isinstance(value, Text):
        return value[-1] if value else Undefined("No last item, sequence was empty.")
    return next(iter(reversed(value)), Undefined("No last item, sequence was empty."))


def _reverse(value: Any, b: Budget) -> Any:
    if isinstance(value, Text):
        return value[::-1]
    try:
        return Lazy(iter(reversed(value)), (value,))
    except TypeError:
        return list(walked(value, b))[::-1]


def _list(value: Any, b: Budget) -> list[Any]:
    return list(walked(value, b))


def _sort(
    value: Any, b: Budget, reverse: Any = False, case_sensitive: Any = False, attribute: Any = None
) -> list[Any]:
    fields = str(attribute).split(",") if isinstance(attribute, str) else [attribute]
    getters = [_getter(field, folded=not case_sensitive) for field in fields]
    held = list(walked(value, b))
    b.charge(len(held) * max(1, len(held).bit_length()))
    parts = [_weighed(get, b) for get in getters]
    return sorted(held, key=lambda v: [get(v) for get in parts], reverse=bool(reverse))


def _weighed(get: Callable[[Any], Any], b: Budget) -> Callable[[Any], Any]:
    """A key whose parts are counted before anything compares them."""

    def weighed(value: Any) -> Any:
        key = get(value)
        weigh_compared("lt", key, None, b)
        return key

    return weighed


def _dictsort(
    value: Any, b: Budget, case_sensitive: Any = False, by: Any = "key", reverse: Any = False
) -> list[Any]:
    if by not in ("key", "value"):
        raise ValueError('You can only sort by either "key" or "value"')
    at, get = int(by == "value"), _getter(None, folded=not case_sensitive)
    b.charge(len(value) * max(1, len(value).bit_length()))
    key = _weighed(lambda pair: get(pair[at]), b)
    return sorted(value.items(), key=key, reverse=bool(reverse))


def _unique(
    value: Any, b: Budget, case_sensitive: Any = False, attribute: Any = None
) -> Iterator[Any]:
    get, seen = _getter(attribute, folded=not case_sensitive), set()
    for held in walked(value, b):
        key = key_of(get(held))
        b.weigh(key)
        if key not in seen:
            seen.add(key)
            yield held


def _extreme(
    value: Any, b: Budget, best: Any, case_sensitive: Any = False, attribute: Any = None
) -> Any:
    held = list(walked(value, b))
    if not held:
        return Undefined("No aggregated item, sequence was empty.")
    return best(held, key=_weighed(_getter(attribute, folded=not case_sensitive), b))


def _min(value: Any, b: Budget, case_sensitive: Any = False, attribute: Any = None) -> Any:
    return _extreme(value, b, min, case_sensitive, attribute)


def _max(value: Any, b: Budget, case_sensitive: Any = False, attribute: Any = None) -> Any:
    return _extreme(value, b, max, case_sensitive, attribute)


def _sum(value: Any, b: Budget, attribute: Any = None, start: Any = 0) -> Any:
    get, total = _getter(attribute), start
    for held in walked(value, b):
        total = add_up(total, get(held), b)
    return total


def _map(value: Any, b: Budget, *args: Any, **named: Any) -> Iterator[Any]:
    if not value:
        return
    if not args and "attribute" in named:
        get = _getter(named.pop("attribute"), named.pop("default", None))
        if named:
            raise TypeError(f"Unexpected keyword argument {next(iter(named))!r}")
    elif not args:
        raise TemplateEvaluationError(detail="map requires a filter argument")
    else:
        change = FILTERS[str(args[0])]

        def get(held: Any) -> Any:
            return change(held, b, *args[1:], **named)

    yield from (get(held) for held in walked(value, b))


def _chosen(wanted: bool, by_field: bool) -> Callable[..., Iterator[Any]]:
    def choose(value: Any, b: Budget, *args: Any) -> Iterator[Any]:
        if not value:
            return
        if by_field and not args:
            raise TemplateEvaluationError(detail="Missing parameter for attribute name")
        get = _getter(args[0]) if by_field else _getter(None)
        name, *rest = args[int(by_field) :] or [None]
        for held in walked(value, b):
            tested = get(held)
            holds = tested if name is None else run_test(str(name), tested, rest, b)
            if bool(holds) is wanted:
                yield held

    return choose


def _lazily(make: Callable[..., Iterator[Any]]) -> Callable[..., Lazy]:
    def start(value: Any, b: Budget, *args: Any, **named: Any) -> Lazy:
        made = make(value, b, *args, **named)
        return Lazy(made, (value, *args, *named.values()))

    return start


FILTERS: dict[str, Callable[..., Any]] = {
    **VALUE_FILTERS,
    "items": _lazily(_items),
    "join": _join,
    "first": _first,
    "last": _last,
    "reverse": _reverse,
    "list": _list,
    "sort": _sort,
    "dictsort": _dictsort,
    "unique": _lazily(_unique),
    "min": _min,
    "max": _max,
    "sum": _sum,
    "map": _lazily(_map),
    "select": _lazily(_chosen(True, False)),
    "reject": _lazily(_chosen(False, False)),
    "selectattr": _lazily(_chosen(True, True)),
    "rejectattr": _lazily(_chosen(False, True)),
}
