"""Closed schemas: every key of a configuration file is classified, and an unknown key is fatal.

A key that changes what is computed also says which fields of the effective configuration it asks
for (its reading), so that they can be held against what the source framework does.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any

from trlm_lab.base.config_bounds import CONFIG_BOUNDS, TOKEN_ID, Bound, shown
from trlm_lab.errors import FieldValueError, UnknownFieldError

ID_RANGE = "an integer from 0 to 2^31 - 1"

#: Returns what is wrong with a value, or an empty text.
Check = Callable[[Any], str]
#: Of a value and the whole document: the effective fields it asks for, by name.
Reading = Callable[[Any, Mapping[str, Any]], Mapping[str, Any]]


def says_nothing(value: Any, document: Mapping[str, Any]) -> Mapping[str, Any]:
    """The reading of a key that asks for no field by itself."""
    return {}


class FieldKind(Enum):
    """Whether a key changes what the model computes."""

    BEHAVIOUR = "behaviour"
    DOCUMENTARY = "documentary"
    #: It changes other families or runtimes; the class of this family does not read it.
    IGNORED = "ignored"


@dataclass(frozen=True)
class FieldRule:
    """One key: its kind, the values it may take, why it is classified so, and its reading."""

    kind: FieldKind
    check: Check
    reason: str
    reading: Reading = says_nothing


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
            raise UnknownFieldError(where=pointer(where, name), field=name, schema=known)
        problem = rule.check(value)
        if problem:
            raise FieldValueError(where=pointer(where, name), field=name, problem=problem)
        fields.append(ClassifiedField(name, value, rule.kind, rule.reason))
    return tuple(fields)


@dataclass(frozen=True)
class Stated:
    """What a key asks for: the key, the effective field, and the value that it must have."""

    key: str
    field: str
    value: Any


def stated(row: Mapping[str, Any], schema: Schema) -> list[Stated]:
    """Everything that the keys of an accepted document ask for, in its order."""
    return [
        Stated(key, field, wanted)
        for key, value in row.items()
        for field, wanted in schema.rules[key].reading(value, row).items()
    ]


def pointer(file: str, *parts: str | int) -> str:
    """A place in a JSON document: the file, and a JSON pointer (RFC 6901) after `#`."""
    escaped = (str(part).replace("~", "~0").replace("/", "~1") for part in parts)
    return file + "#" + "".join(f"/{part}" for part in escaped)


def behaviour(check: Check, reason: str, reading: Reading = says_nothing) -> FieldRule:
    """A key that changes what is computed."""
    return FieldRule(FieldKind.BEHAVIOUR, check, reason, reading)


def documentary(reason: str, check: Check | None = None) -> FieldRule:
    """A key that changes nothing here, and why."""
    return FieldRule(FieldKind.DOCUMENTARY, check or anything, reason)


def ignored(reason: str, check: Check | None = None, reading: Reading = says_nothing) -> FieldRule:
    """A key that the class of this family does not read, and how that was seen.

    What it asks for must be so all the same: the publisher means something by it.
    """
    return FieldRule(FieldKind.IGNORED, check or anything, reason, reading)


def anything(value: Any) -> str:
    """Accept every value."""
    return ""


def bounded(name: str) -> Check:
    """Accept the range that every reader allows the number of this name."""
    return CONFIG_BOUNDS[name].problem


def number(low: float, high: float) -> Check:
    """Accept a number of this closed range."""
    return Bound(low, high, whole=False).problem


def whole(low: int, high: int) -> Check:
    """Accept an integer of this closed range."""
    return Bound(low, high).problem


def bounded_id(value: Any) -> str:
    """Accept one token id."""
    return "" if not TOKEN_ID.problem(value) else f"{shown(value)} is no id, which is {ID_RANGE}"


def flag(value: Any) -> str:
    """Accept true and false."""
    return "" if isinstance(value, bool) else f"{shown(value)} is neither true nor false"


def text(value: Any) -> str:
    """Accept a text."""
    return "" if isinstance(value, str) else f"{shown(value)} is no text"


def token_ids(value: Any) -> str:
    """Accept null, an id, or a list of ids; the conflict detector judges them further."""
    values = value if isinstance(value, list) else [value]
    if value is None or (values and not any(map(TOKEN_ID.problem, values))):
        return ""
    return f"{shown(value)} is no id and no list of ids; an id is {ID_RANGE}"


def or_null(check: Check) -> Check:
    """Accept null besides what `check` accepts."""
    return lambda value: "" if value is None else check(value)


def only(*allowed: Any) -> Check:
    """Accept the listed values and nothing else, types included."""

    def check(value: Any) -> str:
        same = any(type(value) is type(item) and value == item for item in allowed)
        return "" if same else f"{shown(value)} is not supported; supported: {list(allowed)}"

    return check
