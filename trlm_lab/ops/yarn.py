"""YaRN inverse frequencies: a ramp between the source's frequencies and interpolated ones.

Peng et al., YaRN (2023), sections 3.2 and 3.4: dimensions that turn more than `beta_fast` times
over the original context keep their frequency, those below `beta_slow` turns are divided by the
factor, a linear ramp joins them; the attention factor is 0.1 ln(factor) + 1.
"""

from __future__ import annotations

import math

import numpy as np
from jaxtyping import Float

from trlm_lab.ops.arithmetic import Array


def _dimension_of(turns: float, head_dim: int, theta: float, context: int) -> float:
    """Pair index whose angle makes `turns` full turns over `context` positions."""
    return head_dim * math.log(context / (turns * 2 * math.pi)) / (2 * math.log(theta))


def yarn_inverse_frequencies(
    head_dim: int,
    theta: float,
    factor: float,
    original_context: int,
    beta_fast: float = 32.0,
    beta_slow: float = 1.0,
) -> tuple[Float[Array, " {head_dim}//2"], float]:
    """Inverse frequencies in float64, and the factor by which cosines and sines are scaled.

    `factor` is at least 1, `theta` above 1 and `beta_fast` above `beta_slow`; the caller checks.
    """
    plain = theta ** -(np.arange(0, head_dim, 2, dtype=np.float64) / head_dim)
    low = max(math.floor(_dimension_of(beta_fast, head_dim, theta, original_context)), 0)
    high = min(math.ceil(_dimension_of(beta_slow, head_dim, theta, original_context)), head_dim - 1)
    ramp = np.clip((np.arange(head_dim // 2) - low) / max(high - low, 1e-3), 0.0, 1.0)
    mixed = plain / factor * ramp + plain * (1.0 - ramp)
    return mixed, 0.1 * math.log(factor) + 1.0 if factor > 1.0 else 1.0
