"""Faults of an engine: from the operator to the chosen token."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trlm_lab.backends.operators import Operators
from trlm_lab.backends.reference import Plant
from trlm_lab.base.names import parse_checkpoint
from trlm_lab.flows.quant_ladder.faults.fault import LadderFault
from trlm_lab.flows.quant_ladder.model_use import ModelUse
from trlm_lab.flows.quant_ladder.route import SOUND, Route, Span
from trlm_lab.flows.quant_ladder.subject import LadderSubject

Array = NDArray[Any]

#: The cap that a model does not have.
CAP = 30.0


def _running(plant: Plant) -> Route:
    return replace(SOUND, plant=plant)


def _outputs_shifted(subject: LadderSubject) -> Route:
    operator = ModelUse.of(subject).operator

    def perturb(name: str, values: Array) -> Array:
        return np.roll(values, 1, axis=-1) if name == operator else values

    return _running(Plant(perturb=perturb))


def _residual_lost(subject: LadderSubject) -> Route:
    layer = parse_checkpoint(ModelUse.of(subject).layer).layer

    def operators(seat: int | None, sound: Operators) -> Operators:
        if seat != layer:
            return sound

        def residual(name: str, old: Array, new: Array) -> Array:
            return new if name == "output" else sound.residual(name, old, new)

        return replace(sound, residual=residual)

    return _running(Plant(operators=operators))


def _capped(subject: LadderSubject) -> Route:
    def perturb(name: str, values: Array) -> Array:
        cap = values.dtype.type(CAP)
        return cap * np.tanh(values / cap) if name == "logits" else values

    return _running(Plant(perturb=perturb))


def _is_head(subject: LadderSubject, span: Span) -> str | None:
    return "its operator is the logits" if subject.role == "lm_head" else None


def _second(subject: LadderSubject) -> Route:
    return replace(SOUND, choose=lambda logits, listed: int(listed[1]))


FAULTS = (
    LadderFault(
        "operator_outputs_shifted",
        "outputs of the tensor's operator stand one place off",
        _outputs_shifted,
    ),
    LadderFault(
        "residual_lost",
        "the MLP's output replaces the residual stream of the layer",
        _residual_lost,
    ),
    LadderFault(
        "logits_softcapped",
        "logits pass a soft cap of 30 that no model asks for",
        _capped,
        _is_head,
    ),
    LadderFault("second_token_chosen", "the second of the list is chosen", _second),
)
