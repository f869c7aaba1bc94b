"""Closed schemas: every key of a configuration file is classified, and an unknown key is fatal."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any

from trlm_lab.errors import FieldValueError, UnknownFieldError

#: Returns what is wrong with a value, or an empty text.
Check = Callable[[Any], str]


class FieldKind(Enum):
    """Whether a key changes what the model computes."""

    BEHAVIOUR = "behaviour"
    DOCUMENTARY = "documentary"


@dataclass(frozen=True)
class FieldRule:
    """One key: its kind, the values it may take, and why it is classified so."""

    kind: FieldKind
    check: Check
    reason: str


@dataclass(frozen=True)
class Schema:
    """A closed set of keys with a name and version; `reviewer` stands behind the reasons."""

    name: str
    version: int
    reviewer: str
    rules: Mapping[str, FieldRule]


@dataclass(frozen=True)
class ClassifiedField:
    """A key that was found, with its value and classification."""

    name: str
    value: Any
    kind: FieldKind
    reason: str


def classify(row: Mapping[str, Any], schema: Schema, where: str) -> tuple[ClassifiedField, ...]:
    """Every key of a document with its classification, in the order of the document.

    Raises:
        UnknownFieldError: a key that the schema does not know.
        FieldValueError: a known key with a value that this version does not support.
    """
    fields = []
    for name, value in row.items():
        rule = schema.rules.get(name)
        if rule is None:
            known = f"{schema.name} version {schema.version}"
            raise UnknownFieldError(where=where, field=name, schema=known)
        problem = rule.check(value)
        if problem:
            raise FieldValueError(where=where, field=name, problem=problem)
        fields.append(ClassifiedField(name, value, rule.kind, rule.reason))
    return tuple(fields)


def behaviour(check: Check, reason: str) -> FieldRule:
    """A key that changes what is computed."""
    return FieldRule(FieldKind.BEHAVIOUR, check, reason)


def documentary(reason: str, check: Check | None = None) -> FieldRule:
    """A key that changes nothing here, and why."""
    return FieldRule(FieldKind.DOCUMENTARY, check or anything, reason)


def anything(value: Any) -> str:
    """Accept every value."""
    return ""


def positive_integer(value: Any) -> str:
    """Accept 1 to 2^31 - 1."""
    ok = isinstance(value, int) and not isinstance(value, bool) and 0 < value < 2**31
    return "" if ok else f"{value!r} is no positive 31-bit integer"


def positive_number(value: Any) -> str:
    """Accept a finite number above zero."""
    ok = isinstance(value, (int, float)) and not isinstance(value, bool)
    return "" if ok and math.isfinite(value) and value > 0 else f"{value!r} is no positive number"


def flag(value: Any) -> str:
    """Accept true and false."""
    return "" if isinstance(value, bool) else f"{value!r} is neither true nor false"


def text(value: Any) -> str:
    """Accept a text."""
    return "" if isinstance(value, str) else f"{value!r} is no text"


def token_ids(value: Any) -> str:
    """Accept null, an id, or a list of ids; the conflict detector judges them further."""
    values = value if isinstance(value, list) else [value]
    ok = all(isinstance(v, int) and not isinstance(v, bool) and v >= 0 for v in values)
    return "" if value is None or (ok and values) else f"{value!r} is no id and no list of ids"


def or_null(check: Check) -> Check:
    """Accept null besides what `check` accepts."""
    return lambda value: "" if value is None else check(value)


def only(*allowed: Any) -> Check:
    """Accept the listed values and nothing else, types included."""

    def check(value: Any) -> str:
        same = any(type(value) is type(item) and value == item for item in allowed)
        return "" if same else f"{value!r} is not supported; supported: {list(allowed)}"

    return check
