"""Faults of the MLP's activation."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from trlm_lab.backends.faults.fault import Fault, absent, operators_changed
from trlm_lab.backends.operators import Operators
from trlm_lab.backends.reference import Plant
from trlm_lab.base.records import EffectiveConfig
from trlm_lab.ops.arithmetic import Array

#: sqrt(2/pi) and the cubic coefficient of the tanh form of GELU (Hendrycks and Gimpel, 2016).
GELU_SLOPE = 0.7978845608028654
GELU_CUBIC = 0.044715


def _gelu(x: Array) -> Array:
    inner = GELU_SLOPE * (x + GELU_CUBIC * x * x * x)
    return np.asarray(0.5 * x * (1.0 + np.tanh(inner)), dtype=x.dtype)


def _gelu_for_silu(sound: Operators) -> Operators:
    return replace(sound, gate=lambda gate, up: _gelu(gate) * up)


def _swapped(sound: Operators) -> Operators:
    return replace(sound, gate=lambda gate, up: sound.gate(up, gate))


def _erf(x: Array) -> Array:
    inner = np.asarray([math.erf(v * math.sqrt(0.5)) for v in x.reshape(-1).tolist()])
    return np.asarray(0.5 * x * (1.0 + inner.reshape(x.shape)), dtype=x.dtype)


def _other_gelu(config: EffectiveConfig, layer: int | None) -> Plant:
    form = _gelu if config.hidden_act == "gelu_erf" else _erf

    def changed(sound: Operators) -> Operators:
        return replace(sound, activate=form, gate=lambda gate, up: form(gate) * up)

    return operators_changed(changed)(config, layer)


FAULTS = (
    Fault(
        "gelu_for_silu",
        "the gate's activation is GELU (tanh form)",
        operators_changed(_gelu_for_silu),
        refusal=absent(lambda c: c.hidden_act == "silu", "the model's activation is GELU itself"),
    ),
    Fault(
        "gelu_form_swapped",
        "GELU in the error-function form for the tanh form, or the other way round",
        _other_gelu,
        refusal=absent(lambda c: c.hidden_act != "silu", "the model's activation is SiLU"),
    ),
    Fault(
        "gate_up_swapped",
        "the activation is applied to the up projection",
        operators_changed(_swapped),
        refusal=absent(lambda c: c.mlp_gated, "the MLP has no gate"),
    ),
)
