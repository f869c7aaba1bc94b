"""Values that exist only while a template runs: undefined, namespaces, macros, the loop, input."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NoReturn

from trlm_lab.chat import limits
from trlm_lab.chat.owned_text import CONTENT, TEMPLATE, DataFloat, DataInt, of
from trlm_lab.errors import ChatInputError, TemplateEvaluationError

#: Roles that every family uses as words of its own; their text belongs to the template, since some
#: templates build a control token around it. Any other role is a text of the caller.
ROLE_WORDS = frozenset(
    [
        "system",
        "developer",
        "user",
        "assistant",
        "model",
        "tool",
        "tools",
        "function",
        "ipython",
        "observation",
        "context",
    ]
)


class Undefined:
    """What is not there: prints as nothing, is false, empty and equal to itself; all else fails."""

    def __init__(self, what: str) -> None:
        self.what = what

    def _fail(self, *_: Any) -> NoReturn:
        raise TemplateEvaluationError(detail=self.what)

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = _fail
    __truediv__ = __rtruediv__ = __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = _fail
    __pow__ = __rpow__ = __neg__ = __pos__ = __getitem__ = _fail
    __lt__ = __le__ = __gt__ = __ge__ = __int__ = __float__ = _fail

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Undefined)

    def __hash__(self) -> int:
        return hash(Undefined)

    def __len__(self) -> int:
        return 0

    def __iter__(self) -> Iterator[Any]:
        return iter(())

    def __str__(self) -> str:
        return ""

    def __repr__(self) -> str:
        return "Undefined"


class Namespace:
    """What `namespace(...)` makes: named values that inner scopes may change."""

    def __init__(self, held: dict[str, Any]) -> None:
        self.held = held


@dataclass(frozen=True)
class GlobalFunction:
    """A function that the source framework provides by name."""

    name: str


@dataclass(frozen=True, eq=False)
class Macro:
    """A macro: its node of the compiled template and the scope it was defined in."""

    node: list[Any]
    scope: Scope


@dataclass(eq=False)
class Loop:
    """The variable `loop`; its items are all known before the first round."""

    items: list[Any]
    depth0: int
    index0: int = 0
    changed_last: Any = field(default_factory=object)

    def attribute(self, name: str) -> Any:
        """A field of `loop`, or undefined."""
        count, at = len(self.items), self.index0
        plain = {
            "index": at + 1,
            "index0": at,
            "revindex": count - at,
            "revindex0": count - at - 1,
            "first": at == 0,
            "last": at == count - 1,
            "length": count,
            "depth": self.depth0 + 1,
            "depth0": self.depth0,
        }
        if name in plain:
            return plain[name]
        if name == "previtem":
            return self.items[at - 1] if at else Undefined("there is no previous item")
        if name == "nextitem":
            return self.items[at + 1] if at + 1 < count else Undefined("there is no next item")
        return Undefined(f"'loop' has no attribute {name!r}")

    def __len__(self) -> int:
        return len(self.items)


class Scope:
    """Names of one block; a name written here hides the same name outside."""

    __slots__ = ("held", "parent")

    def __init__(self, parent: Scope | None, hidden: list[str] | tuple[str, ...] = ()) -> None:
        self.parent = parent
        self.held: dict[str, Any] = {n: Undefined(f"{n!r} is undefined") for n in hidden}

    def find(self, name: str) -> Any:
        """The nearest value; raises KeyError."""
        scope: Scope | None = self
        while scope is not None:
            if name in scope.held:
                return scope.held[name]
            scope = scope.parent
        raise KeyError(name)


def take(value: Any, where: str, owner: int = CONTENT, depth: int = 0) -> Any:
    """The caller's plain data with owners on every text and number.

    Raises:
        ChatInputError: a value of another type, a key that is no text, half a surrogate pair,
            nesting too deep.
    """
    if depth > limits.MAX_DATA_DEPTH:
        detail = f"nested deeper than {limits.MAX_DATA_DEPTH}"
        raise ChatInputError(where=where, detail=detail)
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return _text(value, where, owner)
    if isinstance(value, int):
        return DataInt(_bounded(value, where))
    if isinstance(value, float):
        return DataFloat(_finite(value, where))
    if isinstance(value, (list, tuple)):
        return [take(v, f"{where}[{i}]", owner, depth + 1) for i, v in enumerate(value)]
    if isinstance(value, dict):
        return _mapping(value, where, owner, depth)
    raise ChatInputError(where=where, detail=f"a {type(value).__name__} is no plain data")


def _bounded(value: int, where: str) -> int:
    if not -limits.MAX_DATA_INTEGER - 1 <= value <= limits.MAX_DATA_INTEGER:
        raise ChatInputError(where=where, detail="an integer beyond 64 bits")
    return value


def _finite(value: float, where: str) -> float:
    if not math.isfinite(value):
        raise ChatInputError(where=where, detail="a number that is not finite")
    return value


def _text(value: str, where: str, owner: int) -> Any:
    if not value.isascii() and any("\ud800" <= c <= "\udfff" for c in value):
        raise ChatInputError(where=where, detail="half a surrogate pair has no UTF-8")
    return of(value, owner)


def _mapping(value: dict[Any, Any], where: str, owner: int, depth: int) -> dict[Any, Any]:
    bad = [key for key in value if not isinstance(key, str)]
    if bad:
        raise ChatInputError(where=where, detail=f"the key {bad[0]!r} is no text")
    rows = {}
    for key, held in value.items():
        rows[_text(key, where, owner)] = take(held, f"{where}.{key}", owner, depth + 1)
    return rows


def take_messages(value: Any) -> list[Any]:
    """The conversation. A role that is one of `ROLE_WORDS` belongs to the template.

    Raises:
        ChatInputError: no list of objects, or as `take`.
    """
    if not isinstance(value, list):
        raise ChatInputError(where="messages", detail=f"a {type(value).__name__} is no list")
    for index, message in enumerate(value):
        if not isinstance(message, dict):
            detail = f"a {type(message).__name__} is no message object"
            raise ChatInputError(where=f"messages[{index}]", detail=detail)
    taken: list[Any] = take(value, "messages")
    for message in taken:
        role = message.get("role")
        if isinstance(role, str) and role in ROLE_WORDS:
            message["role"] = of(role, TEMPLATE)
    return taken
