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
#: What changes in a model, in one of its layers or outside them.
Planter = Callable[[EffectiveConfig, int | None], Plant]


def anywhere(config: EffectiveConfig, quant: str) -> None:
    """The refusal of a fault that every model can have."""


def every_layer(config: EffectiveConfig) -> tuple[int, ...]:
    """The layers of a fault that each of them can have."""
    return tuple(range(config.num_hidden_layers))


def sliding_layers(config: EffectiveConfig) -> tuple[int, ...]:
    """The layers that see a window only."""
    return tuple(filter(config.slides, every_layer(config)))


@dataclass(frozen=True)
class Fault:
    """One entry of the catalogue.

    `plant` gives what changes in a model's layer; a fault of the `whole_model` stands outside the
    layers and is called with None, any other in one of `layers`. `tokens` is the shortest case in
    which it shows; one that shows `past_window` needs a case longer than the window besides.
    `refusal` need not tell where a model lacks the boundary itself: the catalogue sees to that.
    """

    name: str
    description: str
    plant: Planter
    whole_model: bool = False
    tokens: int = 1
    refusal: Refusal = anywhere
    layers: Callable[[EffectiveConfig], tuple[int, ...]] = every_layer
    past_window: bool = False
    parameters: Mapping[str, int | float | str] = field(default_factory=dict)


def absent(value: Callable[[EffectiveConfig], object], detail: str) -> Refusal:
    """Refuse models in which a value is false, null or empty, with what they lack."""
    return lambda config, quant: None if value(config) else detail


def operators_changed(change: Change) -> Planter:
    """A `Fault.plant` that changes the operators of one layer (None: those outside the layers)."""

    def plant(config: EffectiveConfig, layer: int | None) -> Plant:
        def operators(seat: int | None, sound: Operators) -> Operators:
            return change(sound) if seat == layer else sound

        return Plant(operators=operators)

    return plant
