"""Every planted fault by name, and where each must be named."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from trlm_lab.backends.faults import (
    attention,
    ends,
    mlp,
    norm,
    residual,
    rope,
    values,
    weights,
)
from trlm_lab.backends.faults import (
    cache as kv_cache,
)
from trlm_lab.backends.faults.fault import Fault
from trlm_lab.base.records import EffectiveConfig, Outcome
from trlm_lab.base.registry import Registry

CATALOGUE: Registry[Fault] = Registry("planted fault")
for room in (ends, norm, weights, values, rope, attention, kv_cache, residual, mlp):
    for entry in room.FAULTS:
        CATALOGUE.register(entry.name, entry)


@dataclass(frozen=True)
class Expected:
    """The boundary at which a fault must be named (`{layer}` stands for the layer), and how."""

    boundary: str
    verdict: Outcome


@cache
def expected_boundaries() -> dict[str, Expected]:
    """The committed table `data/faults/expected.json`."""
    resource = files("trlm_lab") / "data" / "faults" / "expected.json"
    table = json.loads(resource.read_text(encoding="utf-8"))["faults"]
    return {name: Expected(row["boundary"], Outcome(row["verdict"])) for name, row in table.items()}


@dataclass(frozen=True)
class Planting:
    """One fault in one place; `spec` is what stands behind `faulty:`.

    `boundary` is the expected one with the layer filled in; `tokens` is the shortest case that
    shows the fault.
    """

    fault: Fault
    layer: int | None
    boundary: str
    verdict: Outcome

    @property
    def spec(self) -> str:
        """`NAME@LAYER`, or `NAME` outside the layers."""
        return self.fault.name if self.layer is None else f"{self.fault.name}@{self.layer}"

    @property
    def tokens(self) -> int:
        """Tokens of the shortest case in which the fault shows."""
        return self.fault.tokens


def default_layers(layers: int) -> tuple[int, ...]:
    """The first, a middle and the last layer, each once."""
    return tuple(sorted({0, layers // 2, layers - 1}))


def plantings(
    config: EffectiveConfig, quant: str, layers: Sequence[int] | None = None
) -> Iterator[Planting]:
    """Every fault that this model can have, in each of the layers (default: `default_layers`)."""
    chosen = default_layers(config.num_hidden_layers) if layers is None else tuple(layers)
    for name in CATALOGUE:
        fault = CATALOGUE[name]
        if fault.refusal(config, quant) is None:
            for layer in (None,) if fault.whole_model else chosen:
                yield planting(fault, layer)


def planting(fault: Fault, layer: int | None) -> Planting:
    """A fault in a place, with what is expected of it."""
    expected = expected_boundaries()[fault.name]
    return Planting(fault, layer, expected.boundary.format(layer=layer), expected.verdict)
