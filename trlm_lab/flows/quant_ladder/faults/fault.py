"""What a fault of the ladder is: one step of the sound route done otherwise."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from numpy.typing import NDArray

from trlm_lab.flows.quant_ladder.route import SOUND, Route, Span
from trlm_lab.flows.quant_ladder.subject import LadderSubject

Array = NDArray[Any]
#: The route with the fault, for a subject.
Planter = Callable[[LadderSubject], Route]
#: Why the fault cannot stand in these rows of a tensor, or None.
Refusal = Callable[[LadderSubject, Span], str | None]


def writing(**steps: Any) -> Planter:
    """The route with other steps of the packer, whose planes are then read."""
    return lambda subject: replace(SOUND, writes=True, **steps)


def anywhere(subject: LadderSubject, span: Span) -> str | None:
    """The refusal of a fault that every tensor can have."""
    return None


@dataclass(frozen=True)
class LadderFault:
    """One entry of the catalogue; where it must be named stands in `data/faults/ladder.json`."""

    name: str
    description: str
    plant: Planter
    refusal: Refusal = anywhere


def first_of(*refusals: Refusal) -> Refusal:
    """The first reason of several."""

    def refused(subject: LadderSubject, span: Span) -> str | None:
        return next((why for one in refusals if (why := one(subject, span))), None)

    return refused


def with_scales(subject: LadderSubject, span: Span) -> str | None:
    """Refuse formats without scales."""
    dense = subject.stored.storage.dense
    return f"{subject.stored.storage.name} has no scales" if dense else None


def encoded(*encodings: str) -> Refusal:
    """Refuse scales in another encoding."""

    def refused(subject: LadderSubject, span: Span) -> str | None:
        got = subject.stored.storage.scales
        return None if got in encodings else f"its scales are {got}"

    return refused


def formats(*names: str) -> Refusal:
    """Refuse other storage formats."""

    def refused(subject: LadderSubject, span: Span) -> str | None:
        got = subject.stored.storage.name
        return None if got in names else f"the tensor is stored as {got}"

    return refused


def padded(subject: LadderSubject, span: Span) -> str | None:
    """Refuse rows without padding."""
    full = subject.stored.storage.padded(subject.cols) == subject.cols
    return "its rows have no padding" if full else None


def several_rows(subject: LadderSubject, span: Span) -> str | None:
    """Refuse a single row."""
    return "one row has no neighbour" if span[1] - span[0] < 2 else None
