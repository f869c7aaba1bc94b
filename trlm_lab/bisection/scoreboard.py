"""Planted faults against the boundaries expected of them: who was named, and who was not.

The table of expectations is data, written down before the run. Sound engines take part with no
expected boundary: for them any fault verdict is a false alarm.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from typing import Any

from trlm_lab.base.names import boundary_rank
from trlm_lab.base.records import FAULTS, SOUND, Mismatch, Outcome
from trlm_lab.errors import ExpectationError, UnknownNameError


class Standing(Enum):
    """How one trial ended."""

    NAMED = "named"  #: the boundary is the expected one
    INTERVAL = "interval"  #: the expected one is hidden and lies in (after, boundary]
    MISNAMED = "misnamed"  #: a boundary was named, and the interval does not hold the fault
    BELOW_LIMIT = "below limit"  #: planted, and no boundary exceeds its limit
    MISSED = "missed"  #: planted, and the run could not be judged
    QUIET = "quiet"  #: nothing planted, nothing flagged
    FALSE_ALARM = "false alarm"  #: nothing planted, a fault flagged
    UNJUDGED = "unjudged"  #: nothing planted, and the run could not be judged


@dataclass(frozen=True)
class Expectation:
    """A planted fault and the boundary at which it must appear.

    `boundary` may hold `{layer}`. `None` means a sound engine. Where a `verdict` is expected too
    (NONFINITE for a planted NaN), another one at the right boundary is misnamed.
    """

    fault: str
    boundary: str | None
    layer: int | None = None
    verdict: Outcome | None = None

    @property
    def expected(self) -> str | None:
        """The boundary with the layer filled in."""
        if self.boundary is None:
            return None
        try:
            name = self.boundary.format(layer=self.layer)
            boundary_rank(name)
        except (UnknownNameError, KeyError, IndexError, ValueError) as error:
            detail = f"{self.boundary!r} with layer {self.layer} is no boundary of the ladder"
            raise ExpectationError(where=self.fault, detail=detail) from error
        return name


@dataclass(frozen=True)
class Trial:
    """One expectation and the verdict reached."""

    expectation: Expectation
    mismatch: Mismatch

    @property
    def standing(self) -> Standing:
        """How the trial ended."""
        expected, found = self.expectation.expected, self.mismatch
        if expected is None:
            return _sound_standing(found)
        if found.verdict in SOUND:
            return Standing.BELOW_LIMIT
        if found.verdict not in FAULTS or found.boundary is None:
            return Standing.MISSED
        if self.expectation.verdict not in (None, found.verdict):
            return Standing.MISNAMED
        if found.boundary == expected:
            return Standing.NAMED
        return Standing.INTERVAL if holds(found, expected) else Standing.MISNAMED

    def row(self) -> dict[str, Any]:
        """One line of the table."""
        found = self.mismatch
        return {
            "fault": self.expectation.fault,
            "layer": self.expectation.layer,
            "expected": self.expectation.expected,
            "standing": self.standing.value,
            "verdict": found.verdict.value,
            "boundary": found.boundary,
            "after": found.after,
            "case_id": found.case_id,
            "max_abs": found.max_abs,
            "limit": found.limit,
            "examined": len(found.examined),
            "note": found.note,
        }


def _sound_standing(found: Mismatch) -> Standing:
    if found.verdict in FAULTS:
        return Standing.FALSE_ALARM
    return Standing.QUIET if found.verdict in SOUND else Standing.UNJUDGED


def holds(found: Mismatch, expected: str) -> bool:
    """Whether (`after`, `boundary`] holds the expected boundary on the ladder."""
    if found.boundary is None or boundary_rank(expected) > boundary_rank(found.boundary):
        return False
    return found.after is None or boundary_rank(found.after) < boundary_rank(expected)


@dataclass(frozen=True)
class Scoreboard:
    """All trials of a run."""

    trials: tuple[Trial, ...]

    def rows(self) -> list[dict[str, Any]]:
        """One row a trial, in the order of the run."""
        return [trial.row() for trial in self.trials]

    def counts(self) -> dict[str, int]:
        """Trials by standing; every standing is listed."""
        standings = [trial.standing for trial in self.trials]
        return {standing.value: standings.count(standing) for standing in Standing}

    def having(self, *standings: Standing) -> list[Trial]:
        """The trials that ended in one of these ways."""
        return [trial for trial in self.trials if trial.standing in standings]


def scoreboard(results: Iterable[tuple[Expectation, Mismatch]]) -> Scoreboard:
    """Hold verdicts against expectations. Raises ExpectationError for an unknown boundary."""
    trials = tuple(Trial(*result) for result in results)
    for trial in trials:
        _ = trial.expectation.expected
    return Scoreboard(trials)
