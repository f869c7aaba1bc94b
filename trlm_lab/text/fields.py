"""An object of tokenizer.json read strictly: every field is taken, or the file is refused."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from trlm_lab.errors import TokenizerFieldError

_MISSING: Any = object()
_SHOWN = 60


def escaped(key: str) -> str:
    """A key inside a JSON pointer (RFC 6901)."""
    return key.replace("~", "~0").replace("/", "~1")


def shown(value: Any) -> str:
    """A JSON value, cut short."""
    text = repr(value)
    return text if len(text) <= _SHOWN else text[:_SHOWN] + "…"


class Fields:
    """The fields of one object and its JSON pointer; `done` refuses what nobody asked for."""

    def __init__(self, row: Any, pointer: str) -> None:
        self.pointer = pointer
        if not isinstance(row, dict):
            raise self.fault("", f"{shown(row)} is no object")
        self._row: dict[str, Any] = row
        self._taken: set[str] = set()

    def fault(self, key: str, detail: str) -> TokenizerFieldError:
        """A refusal that names this field."""
        pointer = f"{self.pointer}/{escaped(key)}" if key else self.pointer
        return TokenizerFieldError(where=pointer or "/", detail=detail)

    def take(self, key: str, default: Any = _MISSING) -> Any:
        """Any value; missing without default is a refusal."""
        self._taken.add(key)
        if key not in self._row:
            if default is _MISSING:
                raise self.fault(key, "the field is missing")
            return default
        return self._row[key]

    def has(self, key: str) -> bool:
        """Whether the field is there."""
        return key in self._row

    def flag(self, key: str, default: Any = _MISSING) -> bool:
        """A Boolean."""
        value = self.take(key, default)
        if not isinstance(value, bool):
            raise self.fault(key, f"{shown(value)} is neither true nor false")
        return value

    def text(self, key: str, default: Any = _MISSING) -> str:
        """A text."""
        value = self.take(key, default)
        if not isinstance(value, str):
            raise self.fault(key, f"{shown(value)} is no text")
        return value

    def optional_text(self, key: str) -> str | None:
        """A text or null."""
        return None if self.take(key, None) is None else self.text(key)

    def char(self, key: str, default: Any = _MISSING) -> str:
        """A text of one scalar."""
        value = self.text(key, default)
        if len(value) != 1:
            raise self.fault(key, f"{shown(value)} is no single character")
        return value

    def count(self, key: str, default: Any = _MISSING, *, least: int = 0) -> int:
        """An integer from `least` to 2^31 - 1."""
        value = self.take(key, default)
        whole = isinstance(value, int) and not isinstance(value, bool)
        if not whole or not least <= value < 1 << 31:
            raise self.fault(key, f"{shown(value)} is no count")
        return int(value)

    def choice(self, key: str, known: tuple[str, ...], default: Any = _MISSING) -> str:
        """One of the known words."""
        value = self.take(key, default)
        if value not in known:
            raise self.fault(key, f"{shown(value)} is none of {', '.join(known)}")
        return str(value)

    def rows(self, key: str, default: Any = _MISSING) -> list[Any]:
        """A list."""
        value = self.take(key, default)
        if not isinstance(value, list):
            raise self.fault(key, f"{shown(value)} is no list")
        return value

    def table(self, key: str, default: Any = _MISSING) -> dict[str, Any]:
        """An object, unread."""
        value = self.take(key, default)
        if not isinstance(value, dict):
            raise self.fault(key, f"{shown(value)} is no object")
        return value

    def each(self, key: str, default: Any = _MISSING) -> Iterator[Fields]:
        """The objects of a list, each to be finished by the caller."""
        for index, row in enumerate(self.rows(key, default)):
            yield Fields(row, f"{self.pointer}/{escaped(key)}/{index}")

    def inner(self, key: str) -> Fields:
        """An object."""
        return Fields(self.take(key), f"{self.pointer}/{escaped(key)}")

    def done(self) -> None:
        """Refuse the first field that was not taken."""
        for key in self._row:
            if key not in self._taken:
                raise self.fault(key, "the field is not known")
