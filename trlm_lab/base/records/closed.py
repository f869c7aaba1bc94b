"""Frozen dataclasses to maps and back, strictly: the very keys, and every value of its type."""

from __future__ import annotations

import types
from dataclasses import fields, is_dataclass
from functools import cache
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

from trlm_lab.base.records.checks import require

R = TypeVar("R")


def to_map(value: Any) -> Any:
    """A record as texts, numbers, bytes, lists and maps."""
    if is_dataclass(value):
        return {one.name: to_map(getattr(value, one.name)) for one in fields(value)}
    if isinstance(value, tuple | list):
        return [to_map(one) for one in value]
    if isinstance(value, dict):
        return {key: to_map(one) for key, one in value.items()}
    return value


def from_map(record: type[R], row: Any, where: str) -> R:
    """Inverse of `to_map`.

    Raises:
        RecordError: a key is unknown or missing, or a value is of another type; `where` names it.
    """
    require(isinstance(row, dict), where, f"{type(row).__name__} is no map")
    kind: Any = record
    hints = _hints(kind)
    unknown, missing = sorted(set(row) - set(hints)), sorted(set(hints) - set(row))
    require(not unknown, where, f"unknown keys {unknown}")
    require(not missing, where, f"missing keys {missing}")
    return record(**{name: _read(hints[name], row[name], f"{where}.{name}") for name in hints})


@cache
def _hints(record: Any) -> dict[str, Any]:
    hints = get_type_hints(record)
    return {one.name: hints[one.name] for one in fields(record)}


def _read(wanted: Any, value: Any, where: str) -> Any:
    origin, inside = get_origin(wanted), get_args(wanted)
    if origin in (Union, types.UnionType):
        one = next(kind for kind in inside if kind is not type(None))
        return None if value is None else _read(one, value, where)
    if origin is tuple:
        require(isinstance(value, list | tuple), where, f"{value!r:.60} is no list")
        return tuple(_read(inside[0], one, f"{where}[{i}]") for i, one in enumerate(value))
    if origin is dict:
        require(isinstance(value, dict), where, f"{value!r:.60} is no map")
        return {key: _read(inside[1], one, f"{where}.{key}") for key, one in value.items()}
    if is_dataclass(wanted) and isinstance(wanted, type):
        return from_map(wanted, value, where)
    if wanted is not Any:
        require(type(value) is wanted, where, f"{value!r:.60} is no {wanted.__name__}")
    return value
