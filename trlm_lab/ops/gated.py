"""Gated activation of an MLP: act(gate) * up.

Shazeer, GLU Variants Improve Transformer (2020): SwiGLU and GEGLU, without biases.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from jaxtyping import Float

from trlm_lab.ops.arithmetic import Arithmetic, Array
from trlm_lab.ops.gelu_erf import gelu_erf
from trlm_lab.ops.gelu_tanh import gelu_tanh
from trlm_lab.ops.silu import silu

#: Activations by the names of an effective configuration.
ACTIVATIONS: dict[str, Callable[[Array, Arithmetic], Array]] = {
    "silu": silu,
    "gelu_tanh": gelu_tanh,
    "gelu_erf": gelu_erf,
}

#: Activation of each gated operator by its name in the literature.
GATES = {"swiglu": "silu", "geglu_tanh": "gelu_tanh", "geglu_erf": "gelu_erf"}


@np.errstate(all="ignore")
def gated(
    gate: Float[Array, "*T F"], up: Float[Array, "*T F"], activation: str, arithmetic: Arithmetic
) -> Float[Array, "*T F"]:
    """The activation of the gate, rounded, times up; `activation` is one of ACTIVATIONS."""
    return np.asarray(ACTIVATIONS[activation](gate, arithmetic) * arithmetic.array(up))
