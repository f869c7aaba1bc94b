"""What a planted fault is: a name, a description, what it changes in the running engine, and where.

A fault never touches a file: the artifact is admitted with sound hashes, then the engine that runs
it is changed through the seam of `backends.operators`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from trlm_lab.backends.operators import Operators
from trlm_lab.backends.reference import Plant
from trlm_lab.base.records import EffectiveConfig

#: Changes the operators of the layer in which the fault stands.
Change = Callable[[Operators], Operators]
#: Why a fault cannot be planted in a model of this configuration and quantization, or None.
Refusal = Callable[[EffectiveConfig, str], str | None]


def anywhere(config: EffectiveConfig, quant: str) -> None:
    """The refusal of a fault that every model can have."""


@dataclass(frozen=True)
class Fault:
    """One entry of the catalogue.

    `plant` gives what changes for a layer; a fault of the `whole_model` stands outside the layers
    and is called with None. `tokens` is the shortest case in which it shows.
    """

    name: str
    description: str
    plant: Callable[[int | None], Plant]
    whole_model: bool = False
    tokens: int = 1
    refusal: Refusal = anywhere
    parameters: Mapping[str, int | float | str] = field(default_factory=dict)


def operators_changed(change: Change) -> Callable[[int | None], Plant]:
    """A `Fault.plant` that changes the operators of one layer (None: those outside the layers)."""

    def plant(layer: int | None) -> Plant:
        def operators(seat: int | None, sound: Operators) -> Operators:
            return change(sound) if seat == layer else sound

        return Plant(operators=operators)

    return plant
