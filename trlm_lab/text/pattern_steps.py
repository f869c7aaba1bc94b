"""The steps of a pattern's program: where each goes on, and what else waits in case that fails."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

from trlm_lab.text.pattern_nodes import LAZY, POSSESSIVE
from trlm_lab.text.scalar_sets import ScalarSet

#: Step and place.
Way = tuple[int, int]


class Waiting(Protocol):
    """Ways that are tried, one after the other, where the ways before them fail."""

    def next(self, matching: Matching) -> tuple[Way | None, Waiting | None]:
        """The next way, and what waits behind it."""


class Matching(Protocol):
    """A text on which steps run."""

    text: str

    def count(self, steps: int) -> None:
        """So many steps more.

        Raises:
            PatternStepsError: more than the text allows.
        """

    def end_from(self, step: int, at: int) -> int | None:
        """The end of the match that begins at a step and a place."""

    def wait(self, later: Waiting) -> None:
        """Ways for later."""


class Step(Protocol):
    """One step."""

    def run(self, matching: Matching, number: int, at: int) -> Way | None:
        """Where it goes on from a place, if anywhere; `number` is its own."""


@dataclass(frozen=True, slots=True)
class LiteralStep:
    """These scalars."""

    text: str

    def run(self, matching: Matching, number: int, at: int) -> Way | None:
        """Behind them."""
        return (
            (number + 1, at + len(self.text)) if matching.text.startswith(self.text, at) else None
        )


@dataclass(frozen=True)
class SetStep:
    """One scalar of a set."""

    found: ScalarSet

    def run(self, matching: Matching, number: int, at: int) -> Way | None:
        """Behind it."""
        return (number + 1, at + 1) if self._one(matching.text, at) else None

    @cached_property
    def _one(self) -> _Scan:
        return _scan(self.found, "")


class _Scan(Protocol):
    def __call__(self, text: str, at: int, /) -> re.Match[str] | None: ...


def _scan(found: ScalarSet, count: str) -> _Scan:
    return re.compile(found.expression() + count).match


@dataclass(frozen=True)
class RunStep:
    """`least` to `most` scalars of a set, any number where `most` is None."""

    found: ScalarSet
    least: int
    most: int | None
    manner: int

    def run(self, matching: Matching, number: int, at: int) -> Way | None:
        """Behind the run that comes first; each scalar counts as a step."""
        end = self.end(matching.text, at)
        matching.count(end - at)
        shortest = at + self.least
        if end < shortest:
            return None
        if self.manner == LAZY:
            more = None if self.most is None else self.most - self.least
            matching.wait(_Longer(self, number + 1, end, more))
        elif self.manner != POSSESSIVE and end > shortest:
            matching.wait(_Shorter(number + 1, shortest, end))
        return number + 1, end

    def end(self, text: str, at: int) -> int:
        """Where scalars of the set end: the most of them, or the least if the run is lazy."""
        found = self._scan(text, at)
        return found.end() if found else at

    @cached_property
    def _scan(self) -> _Scan:
        most = self.least if self.manner == LAZY else self.most
        return _scan(self.found, "*" if most is None else f"{{0,{most}}}")

    @cached_property
    def one(self) -> _Scan:
        """A scalar of the set, for a lazy run that takes one more."""
        return _scan(self.found, "")


@dataclass(frozen=True, slots=True)
class SplitStep:
    """Go on at the first step, on failure at the second."""

    first: int
    second: int

    def run(self, matching: Matching, number: int, at: int) -> Way | None:
        """The first way; the second waits."""
        matching.wait(_Branch((self.second, at)))
        return self.first, at


@dataclass(frozen=True, slots=True)
class JumpStep:
    """Go on there."""

    to: int

    def run(self, matching: Matching, number: int, at: int) -> Way | None:
        """The step named."""
        return self.to, at


@dataclass(frozen=True, slots=True)
class LookStep:
    """A condition, up to its `AcceptStep`, so many scalars back or ahead; then go on at `next`."""

    behind: int | None
    negative: bool
    next: int

    def run(self, matching: Matching, number: int, at: int) -> Way | None:
        """The step behind the condition, at the same place."""
        start = at - (self.behind or 0)
        holds = start >= 0 and matching.end_from(number + 1, start) is not None
        return (self.next, at) if holds != self.negative else None


@dataclass(frozen=True, slots=True)
class AtomicStep:
    """What follows, up to its `AcceptStep`, for good; then go on at `next`."""

    next: int

    def run(self, matching: Matching, number: int, at: int) -> Way | None:
        """The step behind the group, at its end."""
        end = matching.end_from(number + 1, at)
        return None if end is None else (self.next, end)


@dataclass(frozen=True, slots=True)
class EndStep:
    """The text has ended."""

    def run(self, matching: Matching, number: int, at: int) -> Way | None:
        """The next step."""
        return (number + 1, at) if at == len(matching.text) else None


@dataclass(frozen=True, slots=True)
class AcceptStep:
    """Matched."""

    def run(self, matching: Matching, number: int, at: int) -> Way | None:
        """Nowhere: whoever runs steps stops here."""
        return None


@dataclass(frozen=True, slots=True)
class _Branch:
    """Go on there."""

    way: Way

    def next(self, matching: Matching) -> tuple[Way | None, Waiting | None]:
        return self.way, None


@dataclass(frozen=True, slots=True)
class _Shorter:
    """A run that ends at `end` may end earlier, down to `shortest`."""

    step: int
    shortest: int
    end: int

    def next(self, matching: Matching) -> tuple[Way | None, Waiting | None]:
        at = self.end - 1
        return (self.step, at), _Shorter(
            self.step, self.shortest, at
        ) if at > self.shortest else None


@dataclass(frozen=True, slots=True)
class _Longer:
    """A lazy run that ends at `end` may take so many more."""

    run: RunStep
    step: int
    end: int
    left: int | None

    def next(self, matching: Matching) -> tuple[Way | None, Waiting | None]:
        if self.left == 0 or not self.run.one(matching.text, self.end):
            return None, None
        matching.count(1)
        left = None if self.left is None else self.left - 1
        return (self.step, self.end + 1), _Longer(self.run, self.step, self.end + 1, left)
