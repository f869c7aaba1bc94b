"""A table of named things; registration is one visible line and duplicates raise."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Generic, TypeVar

from trlm_lab.errors import DuplicateNameError, UnknownNameError

Item = TypeVar("Item")


class Registry(Generic[Item]):
    """Names to items of one kind, in the order of registration."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self._items: dict[str, Item] = {}

    def register(self, name: str, item: Item) -> Item:
        """Add an item. Raises DuplicateNameError where the name is taken."""
        if name in self._items:
            raise DuplicateNameError(where=self.kind, name=name)
        self._items[name] = item
        return item

    def __getitem__(self, name: str) -> Item:
        if name not in self._items:
            raise UnknownNameError(kind=self.kind, name=name, known=", ".join(self._items))
        return self._items[name]

    def __contains__(self, name: object) -> bool:
        return name in self._items

    def __iter__(self) -> Iterator[str]:
        return iter(self._items)
