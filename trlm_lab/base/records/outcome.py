"""The outcomes of a comparison: an enumeration, never one Boolean."""

from __future__ import annotations

from enum import Enum
from typing import NoReturn


class Outcome(Enum):
    """What a comparison says; see docs/checkpoints for the exact rules."""

    MATCH = "MATCH"  #: same bits, or within the oracle's noise floor
    DRIFT = "DRIFT"  #: beyond the floor, within the frozen policy
    TIE = "TIE"  #: another greedy token, and the margin is at most twice the bound
    WRONG = "WRONG"  #: beyond the policy
    NONFINITE = "NONFINITE"  #: a NaN or infinity where none may be
    UNSTABLE_ORACLE = "UNSTABLE_ORACLE"  #: the floor itself is above the policy
    NOT_SUPPORTED = "NOT_SUPPORTED"  #: the engine cannot do this
    INFRA = "INFRA"  #: a crash, hang, malformed file or lost device

    def __bool__(self) -> NoReturn:
        raise TypeError("an Outcome is no Boolean; compare it with a member or with SOUND")


SOUND: frozenset[Outcome] = frozenset({Outcome.MATCH, Outcome.DRIFT, Outcome.TIE})
FAULTS: frozenset[Outcome] = frozenset({Outcome.WRONG, Outcome.NONFINITE})

#: Worst first: a group of outcomes is reported by the first of these that occurs in it.
SEVERITY: tuple[Outcome, ...] = (
    Outcome.NONFINITE,
    Outcome.WRONG,
    Outcome.INFRA,
    Outcome.UNSTABLE_ORACLE,
    Outcome.NOT_SUPPORTED,
    Outcome.TIE,
    Outcome.DRIFT,
    Outcome.MATCH,
)


def worst(outcomes: list[Outcome]) -> Outcome:
    """The most severe outcome of a non-empty group."""
    return min(outcomes, key=SEVERITY.index)


def outcome_of_error(code: str) -> Outcome:
    """What an error of a backend stands for: NOT_SUPPORTED or INFRA, never a pass."""
    return Outcome.NOT_SUPPORTED if code == Outcome.NOT_SUPPORTED.value else Outcome.INFRA
