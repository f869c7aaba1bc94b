"""Faults of the gated MLP."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from trlm_lab.backends.faults.fault import Fault, operators_changed
from trlm_lab.backends.operators import Operators
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


FAULTS = (
    Fault(
        "gelu_for_silu",
        "the gate's activation is GELU (tanh form)",
        operators_changed(_gelu_for_silu),
    ),
    Fault(
        "gate_up_swapped",
        "the activation is applied to the up projection",
        operators_changed(_swapped),
    ),
)
