"""Faults of the residual stream."""

from __future__ import annotations

from dataclasses import replace

from trlm_lab.backends.faults.fault import Change, Fault, operators_changed
from trlm_lab.backends.operators import Operators
from trlm_lab.ops.arithmetic import Array


def _lost(which: str) -> Change:
    def changed(sound: Operators) -> Operators:
        def residual(name: str, old: Array, new: Array) -> Array:
            return new if name == which else sound.residual(name, old, new)

        return replace(sound, residual=residual)

    return changed


FAULTS = (
    Fault(
        "residual_lost_attention",
        "attention's output replaces the residual stream",
        operators_changed(_lost("attn_residual")),
    ),
    Fault(
        "residual_lost_mlp",
        "the MLP's output replaces the residual stream",
        operators_changed(_lost("output")),
    ),
)
