"""Models: a piece of text becomes ids with the spans of the piece that they stand for."""

from __future__ import annotations

from typing import NamedTuple, Protocol


class Part(NamedTuple):
    """An id, its token's text, and the scalars `start` to `end` of the piece."""

    id: int
    text: str
    start: int
    end: int


class Model(Protocol):
    """A vocabulary and the way it cuts."""

    @property
    def ids(self) -> dict[str, int]:
        """Ids by token."""

    def tokenize(self, text: str) -> tuple[Part, ...]:
        """The tokens of one piece that is not empty."""

    def text_of(self, number: int) -> str | None:
        """The token of an id."""

    def without(self, numbers: frozenset[int]) -> Model:
        """The same model that never gives these ids, except its unknown token."""
