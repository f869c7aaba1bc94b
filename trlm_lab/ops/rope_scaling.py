"""Rescaled rotary frequencies in closed form: linear interpolation, and that of the llama 3 family.

Chen et al., Extending Context Window of Large Language Models via Positional Interpolation (2023);
the llama 3 form as its reference implementation publishes it: wave lengths above
`context / low` are interpolated, those below `context / high` kept, and a ramp joins them.
YaRN has a module of its own. All values are float64; the caller checks the ranges.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

from trlm_lab.ops.arithmetic import Array


def plain_inverse_frequencies(head_dim: int, theta: float) -> Float[Array, " {head_dim}//2"]:
    """theta^(-2i/E) for i below E/2, not rounded to float32."""
    return np.asarray(theta ** -(np.arange(0, head_dim, 2, dtype=np.float64) / head_dim))


def linear_inverse_frequencies(
    head_dim: int, theta: float, factor: float
) -> Float[Array, " {head_dim}//2"]:
    """Every frequency divided by the factor, as if the positions were."""
    return plain_inverse_frequencies(head_dim, theta) / factor


def llama3_inverse_frequencies(
    head_dim: int, theta: float, factor: float, low: float, high: float, context: float
) -> Float[Array, " {head_dim}//2"]:
    """`low` and `high` are turns over the original context; `low` is below `high`."""
    plain = plain_inverse_frequencies(head_dim, theta)
    turns = context * plain / (2.0 * np.pi)
    kept = np.clip((turns - low) / (high - low), 0.0, 1.0)
    return np.asarray((1.0 - kept) * plain / factor + kept * plain)
