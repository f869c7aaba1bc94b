"""Gated activation of the llama MLP: silu(gate) * up.

Shazeer, GLU Variants Improve Transformer (2020), SwiGLU without biases.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

from trlm_lab.ops.arithmetic import Arithmetic, Array
from trlm_lab.ops.silu import silu


@np.errstate(all="ignore")
def silu_gate(
    gate: Float[Array, "T F"], up: Float[Array, "T F"], arithmetic: Arithmetic
) -> Float[Array, "T F"]:
    """silu(gate), rounded, times up."""
    return np.asarray(silu(gate, arithmetic) * arithmetic.array(up))
