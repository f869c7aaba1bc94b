"""Filters on lists: choosing, mapping, ordering and joining.

`map`, `select` and the like give their items one by one, once, as the source's do: such a sequence
is true even when it is empty, and has no length.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from trlm_lab.chat import text_operations as ops
from trlm_lab.chat.arguments import call, no_names
from trlm_lab.chat.arithmetic import add_up
from trlm_lab.chat.budget import Budget
from trlm_lab.chat.compare import weigh_compared
from trlm_lab.chat.filters import FILTERS as VALUE_FILTERS
from trlm_lab.chat.is_tests import run_test
from trlm_lab.chat.lazy import Lazy
from trlm_lab.chat.lookup import item, key_of, to_text
from trlm_lab.chat.methods import join_pieces
from trlm_lab.chat.owned_text import EMPTY, Text
from trlm_lab.chat.refusals import hashed, ill_typed, iterated, kind, refused
from trlm_lab.chat.values import Undefined
from trlm_lab.errors import TemplateEvaluationError

_NO_ORDER = "TypeError: the items have no order"


def run_filter(name: str, value: Any, args: list[Any], named: dict[str, Any], b: Budget) -> Any:
    """`value | name(…)`.

    Raises:
        TemplateEvaluationError: no such filter, or what the filter refuses.
    """
    found = FILTERS.get(name)
    if found is None:
        raise refused(f"KeyError: {name!r}")
    return call(found, (value, b), args, named)


def walked(values: Iterable[Any], b: Budget) -> Iterator[Any]:
    """Items one by one, each a step."""
    for value in iterated(values):
        b.charge()
        yield value


def _number(part: str) -> int:
    try:
        # What is longer is no place anyhow, and is written alike everywhere.
        return min(int(part), 2**127 - 1)
    except ValueError as error:
        raise refused("ValueError: invalid literal for int() with base 10") from error


def _getter(attribute: Any, default: Any = None, folded: bool = False) -> Callable[[Any], Any]:
    if attribute is None:
        parts: list[Any] = []
    elif isinstance(attribute, str):
        named = str(attribute).split(".")
        parts = [_number(part) if part.isdigit() else part for part in named]
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
        raise refused("TypeError: Can only get item pairs from a mapping.")
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
    return next(iterated(value), Undefined("No first item, sequence was empty."))


def _last(value: Any, b: Budget) -> Any:
    if isinstance(value, Text):
        return value[-1] if value else Undefined("No last item, sequence was empty.")
    try:
        turned = reversed(value)
    except TypeError as error:
        raise ill_typed("the last item", value) from error
    return next(iter(turned), Undefined("No last item, sequence was empty."))


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
    return _in_order(held, [[get(v) for get in parts] for v in held], bool(reverse))


def _in_order(held: list[Any], keys: list[Any], reverse: bool) -> list[Any]:
    try:
        places = sorted(range(len(held)), key=keys.__getitem__, reverse=reverse)
    except (TypeError, TemplateEvaluationError) as error:
        # Which two are compared first is the algorithm's, so no pair is named.
        raise refused(_NO_ORDER) from error
    return [held[at] for at in places]


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
    if not isinstance(by, str) or by not in ("key", "value"):
        raise refused('ValueError: You can only sort by either "key" or "value"')
    if not isinstance(value, dict):
        raise ill_typed("the pairs", value)
    at, get = int(by == "value"), _getter(None, folded=not case_sensitive)
    b.charge(len(value) * max(1, len(value).bit_length()))
    key = _weighed(lambda pair: get(pair[at]), b)
    pairs = list(value.items())
    return _in_order(pairs, [key(pair) for pair in pairs], bool(reverse))


def _unique(
    value: Any, b: Budget, case_sensitive: Any = False, attribute: Any = None
) -> Iterator[Any]:
    get, seen = _getter(attribute, folded=not case_sensitive), set()
    for held in walked(value, b):
        key = hashed(key_of(get(held)))
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
    get = _weighed(_getter(attribute, folded=not case_sensitive), b)
    keys = [get(one) for one in held]
    try:
        return held[best(range(len(held)), key=keys.__getitem__)]
    except (TypeError, TemplateEvaluationError) as error:
        raise refused(_NO_ORDER) from error


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
        no_names(named)
    elif not args:
        raise refused("map requires a filter argument")
    else:

        def get(held: Any) -> Any:
            return _mapped(held, b, args[0], list(args[1:]), named)

    yield from (get(held) for held in walked(value, b))


def _mapped(held: Any, b: Budget, name: Any, args: list[Any], named: dict[str, Any]) -> Any:
    if not isinstance(name, str):
        raise refused("KeyError: a filter that is no text")
    return run_filter(str(name), held, args, named, b)


def _tested(name: Any, value: Any, args: list[Any], b: Budget) -> Any:
    if not isinstance(name, str):
        raise refused(f"KeyError: a test named by {kind(name)}")
    return run_test(str(name), value, args, b)


def _chosen(wanted: bool, by_field: bool) -> Callable[..., Iterator[Any]]:
    def choose(value: Any, b: Budget, *args: Any) -> Iterator[Any]:
        if not value:
            return
        if by_field and not args:
            raise refused("Missing parameter for attribute name")
        get = _getter(args[0]) if by_field else _getter(None)
        name, *rest = args[int(by_field) :] or [None]
        for held in walked(value, b):
            tested = get(held)
            holds = tested if name is None else _tested(name, tested, rest, b)
            if bool(holds) is wanted:
                yield held

    return choose


def _lazily(make: Callable[..., Iterator[Any]]) -> Callable[..., Lazy]:
    def start(value: Any, b: Budget, *args: Any, **named: Any) -> Lazy:
        made = call(make, (value, b), list(args), named)
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
