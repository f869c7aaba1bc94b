"""Steps, sizes and depths of one rendering, counted against the limits."""

from __future__ import annotations

from collections.abc import ItemsView, KeysView, ValuesView
from typing import Any

from trlm_lab.chat import limits
from trlm_lab.errors import TemplateLimitError

#: Larger counts are written as this one.
_COUNTED = 2**64 - 1


class Budget:
    """Counters of one rendering; every `charge` may end it."""

    def __init__(self, steps: int = 0) -> None:
        """`steps` are used up already."""
        self.steps = steps
        self.output = 0
        self.macros = 0
        self.live = 0

    def charge(self, steps: int = 1) -> None:
        """Use steps up."""
        self.steps += steps
        if self.steps > limits.MAX_STEPS:
            self._refuse("steps", self.steps, limits.MAX_STEPS)

    def text(self, characters: int) -> None:
        """Before a text of so many characters is built."""
        characters = min(characters, _COUNTED)
        if characters > limits.MAX_TEXT_CHARACTERS:
            self._refuse("characters of one text", characters, limits.MAX_TEXT_CHARACTERS)
        self.charge(-(-characters // limits.CHARACTERS_A_STEP))

    def weigh(self, value: Any) -> None:
        """Before all parts of a value are visited; shared parts count each time, as they print."""
        if isinstance(value, str):
            self.text(len(value))
        elif isinstance(value, dict):
            self.charge(1 + len(value))
            for key, held in value.items():
                self.weigh(key)
                self.weigh(held)
        elif isinstance(value, (list, tuple, KeysView, ValuesView, ItemsView)):
            self.charge(1 + len(value))
            for held in value:
                self.weigh(held)

    def written(self, octets: int) -> None:
        """After a piece of output."""
        self.output += octets
        if self.output > limits.MAX_OUTPUT_BYTES:
            self._refuse("bytes of output", self.output, limits.MAX_OUTPUT_BYTES)

    def enter(self) -> None:
        """One more node under evaluation."""
        self.charge()
        self.live += 1
        if self.live > limits.MAX_LIVE_DEPTH:
            self._refuse("depth of evaluation", self.live, limits.MAX_LIVE_DEPTH)

    def call(self) -> None:
        """One more macro under evaluation."""
        self.macros += 1
        if self.macros > limits.MAX_MACRO_DEPTH:
            self._refuse("depth of macro calls", self.macros, limits.MAX_MACRO_DEPTH)

    def integer(self, value: int) -> int:
        """The result of arithmetic."""
        if abs(value) > limits.MAX_INTEGER:
            self._refuse("size of an integer", "more", limits.MAX_INTEGER)
        return value

    def _refuse(self, what: str, got: object, limit: int) -> None:
        raise TemplateLimitError(what=what, got=got, limit=limit)
