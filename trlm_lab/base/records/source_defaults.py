"""What the source framework supplied for one model, value by value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class SourceDefault:
    """A value that the pinned source supplied, and where in the source it comes from."""

    name: str
    value: Any
    origin: str


@dataclass(frozen=True)
class SourceDefaults:
    """Values read out of the running source framework for one model (never re-implemented).

    `framework` names package and version, e.g. "transformers 5.24.0, torch 2.13.0".
    `values` holds at least every field of the effective configuration.
    """

    framework: str
    values: tuple[SourceDefault, ...]

    def __getitem__(self, name: str) -> Any:
        for default in self.values:
            if default.name == name:
                return default.value
        raise KeyError(name)
