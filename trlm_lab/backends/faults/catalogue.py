"""Every planted fault by name, and where each must be named."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from trlm_lab.backends.faults import (
    attention,
    bias,
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
from trlm_lab.base.model_parts import layer_ops
from trlm_lab.base.records import EffectiveConfig, Outcome
from trlm_lab.base.registry import Registry

CATALOGUE: Registry[Fault] = Registry("planted fault")
for room in (ends, norm, weights, bias, values, rope, attention, kv_cache, residual, mlp):
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
    tokens: int

    @property
    def spec(self) -> str:
        """`NAME@LAYER`, or `NAME` outside the layers."""
        return self.fault.name if self.layer is None else f"{self.fault.name}@{self.layer}"


def default_layers(layers: int) -> tuple[int, ...]:
    """The first, a middle and the last layer, each once."""
    return tuple(sorted({0, layers // 2, layers - 1}))


def refusal(fault: Fault, config: EffectiveConfig, quant: str) -> str | None:
    """Why a model of this configuration and quantization cannot have a fault, or None."""
    boundary = expected_boundaries()[fault.name].boundary
    op = boundary.rpartition(".")[2]
    if boundary.startswith("layers.{layer}.") and op not in layer_ops(config):
        return f"the model has no {op}"
    if not fault.whole_model and not fault.layers(config):
        return "no layer of the model slides"
    return fault.refusal(config, quant)


def plantings(
    config: EffectiveConfig, quant: str, layers: Sequence[int] | None = None
) -> Iterator[Planting]:
    """Every fault that this model can have, in each of the layers.

    The default are the first, a middle and the last of the layers that can have the fault.
    """
    for name in CATALOGUE:
        fault = CATALOGUE[name]
        if refusal(fault, config, quant) is None:
            for layer in (None,) if fault.whole_model else _chosen(fault, config, layers):
                yield planting(fault, layer, config)


def _chosen(fault: Fault, config: EffectiveConfig, layers: Sequence[int] | None) -> tuple[int, ...]:
    able = fault.layers(config)
    if layers is None:
        return tuple(able[index] for index in default_layers(len(able)))
    return tuple(layer for layer in layers if layer in able)


def planting(fault: Fault, layer: int | None, config: EffectiveConfig) -> Planting:
    """A fault in a place, with what is expected of it."""
    expected = expected_boundaries()[fault.name]
    past = (config.sliding_window or 0) + 1 if fault.past_window else 0
    boundary = expected.boundary.format(layer=layer)
    return Planting(fault, layer, boundary, expected.verdict, max(fault.tokens, past))
