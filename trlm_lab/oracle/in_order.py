"""Pass checkpoints on in ladder order, and notice any that is missing, doubled or unknown."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

from trlm_lab.errors import CaptureError

Value = TypeVar("Value")

#: Some sources norm the queries before they project the keys, and the keys before the values.
EARLY = ("q_norm", "k_norm")


class InOrder(Generic[Value]):
    """Takes named values as they are made and hands them on along the ladder."""

    def __init__(self, ladder: Sequence[str], sink: Callable[[str, Value], None]) -> None:
        self._ladder, self._sink = ladder, sink
        self._rank = {name: index for index, name in enumerate(ladder)}
        self._at = 0
        self._early: dict[str, Value] = {}

    def put(self, name: str, value: Value) -> None:
        """Take one value. Raises CaptureError where another was due."""
        if self._is_early(name):
            self._early[name] = value
            return
        if name != self._due:
            raise CaptureError(where=name, detail=f"{self._due} was due")
        self._hand_on(name, value)
        while self._due in self._early:
            self._hand_on(self._due, self._early.pop(self._due))

    @property
    def _due(self) -> str:
        return self._ladder[self._at] if self._at < len(self._ladder) else "nothing more"

    def _is_early(self, name: str) -> bool:
        ahead = self._rank.get(name, -1) > self._at and name not in self._early
        return ahead and name.rpartition(".")[2] in EARLY

    def _hand_on(self, name: str, value: Value) -> None:
        self._at += 1
        self._sink(name, value)
